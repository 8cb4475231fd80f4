package recordio

// ChunkInfo describes one chunk of a file.
type ChunkInfo struct {
	Offset     int64 // of its header in the file
	Size       int64 // of header and payload as stored, in bytes
	First      int64 // number of its first record in the file
	Records    int64
	RawBytes   int64 // payload after decompression; 0 where it has not been decoded
	Compressor Compressor
	CRC        uint32 // of the payload as stored
}
