// Package split distributes the records of a dataset over files.
//
// A Rule determines where one file ends and the next begins, a Pattern the names of files. Together
// they make a Plan, a plain value: which records go to which file under which name. If the number
// (or the sizes) of the records is known, a Plan can be made in advance. A Writer applies a Rule to
// a stream of records and returns the Plan at its end. Both ways give the same Plan for the same
// input.
//
// # Rules
//
//	Records(n)        exactly n records a file, the last one the rest
//	Bytes(n)          records of together at most n bytes; a larger record has a file of its own
//	Files(k)          k files of consecutive records, whose numbers differ by at most one
//	RoundRobin(k)     record i in file i mod k
//	PaddleSplit(n)    like paddle.v2.dataset.common.split(line_count=n)
//	PaddleConvert(n)  like paddle.v2.dataset.common.convert(line_count=n)
//
// Bytes are those of the records passed to RecordWriter, without lengths, framing or compression.
// Records and files are counted from 0.
//
// Files(k) needs the number of records in advance (WithCount); all others work on a stream.
// RoundRobin(k) keeps k files open.
//
// Without records, Records, Bytes and PaddleSplit make no file. Files(k) and RoundRobin(k) with
// fewer than k records are errors: an empty file would leave a trainer without work.
//
// # Paddle
//
// The loops of the reference implementation end a file after record i if i >= n and i mod n = 0. So
// the first file has n+1 records, the others n, the last the rest:
//
//	records, n    PaddleSplit    PaddleConvert
//	0, 4          no file        0
//	4, 4          4              4
//	9, 4          5 4            5 4 0
//	10, 4         5 4 1          5 4 1
//	3, 1          2 1            2 1 0
//
// convert always writes its buffer at the end, so its last file may be empty.
//
// # Names
//
// A Pattern has one %0Wd, the number of the file in at least W digits with zeros, or %0Wd-of-%0Wd.
// The number after -of- has two meanings in practice: the number of files (OfCount; 10 files end in
// 00009-of-00010) and, in the design of PaddlePaddle, the number of the last file (OfLast; 10 files
// end in 00009-of-00009). A percent sign in a name is written %%; see Escape.
//
// Readers sort names as text. So %d is refused, and a number with more digits than its verb allows
// is an error.
//
// # Stability
//
// Rules and names are a format: the same rule on the same records gives the same files in every
// version of this package.
package split
