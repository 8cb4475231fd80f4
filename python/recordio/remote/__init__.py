"""The files of a pfs service, for Python 3.10 and later: pip install paddle-recordio[fsspec].

    fsspec.open("pfs://dc1/home/alice/x")     the file /pfs/dc1/home/alice/x

    config       the configuration and the login of paddlectl
    protocol     messages, checksums and errors of the protocol
    service      requests to one service, with retries
    filesystem   PfsFileSystem, which fsspec finds by its entry point
"""
