// Package recordio reads and writes RecordIO files: byte-string records in chunks with checksums
// and optional compression.
//
// The format is that of PaddlePaddle/recordio. With the compressors None and Snappy a [Writer]
// produces the same bytes as that library; with Gzip, files that it can read. A [Scanner] reads an
// io.Reader in order, a [File] reads an io.ReaderAt at random. Paths in options are only for
// messages.
//
// # Format
//
// A file is a sequence of chunks and nothing else; 0 bytes are a file without records. A chunk is a
// header of five little-endian words of 32 bits and a payload:
//
//	 0  magic 0x01020304
//	 4  CRC-32 (IEEE) of the payload as stored
//	 8  compressor: 0 none, 1 snappy (framing format), 2 gzip, 0x5a530001 zstd
//	12  bytes of the payload as stored
//	16  number of records
//
// The payload, decompressed, is each record's length (32 bits, little-endian) followed by its
// bytes. Readers ignore a chunk of 0 records; an embedded index is such a chunk. Zstd is an
// extension: other readers of the format refuse it.
//
// Three more dialects can be read (see [Dialect]); they are recognized by their first chunk. Only
// the one above is written.
//
// # Damage
//
// The header has no checksum, so its values are checked against the payload: the lengths of the
// records must fill the payload exactly, and their number must be the stated one. [Policy]
// determines how a Scanner treats a damaged chunk. Everything omitted is reported, to
// [ScanOptions.OnDamage] and in [Scanner.Loss].
//
// # Memory
//
// A length in a file leads to an allocation only after it has been checked against
// [ScanOptions.MaxChunkBytes] and, step by step, against the bytes that are present. A Scanner
// holds one chunk, stored and decompressed; with Parallelism it holds one more for each goroutine
// and another. Salvage temporarily needs twice that. A Writer holds about one stored chunk. Large
// arrays of closed Scanners and Writers are pooled for reuse.
//
// # Files
//
//	writer, writeroptions, packer,     records into chunks, in groups that several goroutines pack
//	workers, encoder
//	scanner, scanoptions, pipeline,    sequential reading, by one goroutine or several
//	policy
//	window, framer, resync             the stream, its chunks, and the next intact chunk behind damage
//	header, dialect, headerwalk        chunk headers, and a walk over headers alone
//	chunkdecoder, decoder, walker      from a chunk to its records
//	compressor, block, snappyframe,    compression, and the parts of a chunk that can be decoded alone
//	snappystream, zstdframe
//	salvage, salvagechain              the correct records of a damaged chunk
//	file, range, batch, recordreader,  random access
//	cache, extents
//	index, indexfile, chunkinfo        positions of records, and their stored form
//	verify, repair, tail               whole files: checks, repair, the end of an interrupted file
//	lengths                            statistics of lengths
//	bufpool, errors                    reusable arrays; kinds of errors
package recordio
