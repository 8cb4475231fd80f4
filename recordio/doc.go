// Package recordio reads and writes RecordIO files: records of bytes, gathered
// into chunks that are checked and may be compressed.
//
// Its files are those of PaddlePaddle/recordio. For the compressors None and
// Snappy a [Writer] gives the same bytes as that library, for Gzip files that it
// reads. The [Scanner] reads any io.Reader in order, [File] any io.ReaderAt at
// random. Neither knows file names; callers pass them in for messages.
//
// # Format
//
// A file is a sequence of chunks and nothing else; 0 bytes are a file without
// records. A chunk is a header of five little-endian words of 32 bits and a payload:
//
//	 0  magic 0x01020304
//	 4  CRC-32 (IEEE) of the payload as stored
//	 8  compressor: 0 none, 1 snappy (framing format), 2 gzip, 0x5a530001 zstd
//	12  bytes of the payload as stored
//	16  number of records
//
// The payload, decompressed, is each record's length (32 bits, little-endian)
// followed by its bytes. A chunk of 0 records is passed over whatever it holds;
// an embedded index is such a chunk. Zstd is an extension: other readers of the
// format refuse it.
//
// Three more dialects of the format are recognised by their first chunk and read
// (see [Dialect]). Only the one above is written.
//
// # Damage
//
// The header has no checksum, so everything it says is compared with what is there:
// the lengths of the records must fill the payload exactly, and their number must
// be the stated one. [Policy] says what a Scanner does with a chunk that fails.
// What was passed over is always reported, to [ScanOptions.OnDamage] and in
// [Scanner.Loss].
//
// # Memory
//
// No length that a file states leads to an allocation before it has been checked
// against [ScanOptions.MaxChunkBytes] and, step by step, against the bytes that are
// really there. A Scanner holds one chunk, stored and decompressed, and with
// Parallelism one more for each goroutine and another; salvage needs twice that
// for a while. A Writer holds about one chunk as stored. Large arrays of those that
// were closed serve the next ones, until the garbage collector takes them.
//
// # Files
//
//	writer, writeroptions, packer,     records into chunks, in groups that several goroutines pack
//	workers, encoder
//	scanner, scanoptions, pipeline,    a stream read in order, by one goroutine or ahead by several
//	all, policy
//	window, framer, resync             the stream, the chunks in it, and the next whole one behind damage
//	header, dialect, headerwalk        the words in front of a chunk, and a walk over nothing else
//	chunkdecoder, decoder, walker      a chunk into its records
//	compressor, block, snappyframe,    the compressions, and the parts of a chunk that can be read alone
//	snappystream, zstdframe
//	salvage, salvagechain              what can be proven of a damaged chunk
//	file, range, batch, recordreader,  records by number
//	cache
//	index, indexfile, chunkinfo        where each record is, and how that is stored
//	verify, repair, tail               a file as a whole: checked, mended, gone on with
//	bufpool, errors                    arrays that are used again; kinds of errors
package recordio
