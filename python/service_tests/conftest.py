import fsspec

# pip registers it by the entry point of the package.
fsspec.register_implementation("pfs", "recordio.remote.filesystem.PfsFileSystem", clobber=True)
