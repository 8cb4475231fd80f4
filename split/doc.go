// Package split distributes the records of a dataset over files.
//
// A Rule says where one file ends and the next begins, a Pattern how files are
// called. Both together give a Plan, a plain value: which records go to which file
// under which name. A Plan is made ahead of the records where their number (or
// their sizes) are known, and a Writer carries a Rule out while the records pass by,
// and gives the Plan at its end. The two agree: for one input they are the same.
//
// # Rules
//
//	Records(n)        exactly n records a file, the last one the rest
//	Bytes(n)          as many records as have together at most n bytes; one that is larger has a file of its own
//	Files(k)          k files of consecutive records, whose numbers differ by at most one
//	RoundRobin(k)     record i in file i mod k
//	PaddleSplit(n)    as paddle.v2.dataset.common.split(line_count=n)
//	PaddleConvert(n)  as paddle.v2.dataset.common.convert(line_count=n)
//
// Bytes are those of the records as they are written to RecordWriter, without
// lengths, framing or compression. Records are counted from 0, and so are files.
//
// Files(k) has to know the number of records before the first one (WithCount); all
// others work on a stream. RoundRobin(k) holds k files open.
//
// With no records at all Records, Bytes and PaddleSplit make no file. Files(k) and
// RoundRobin(k) with fewer than k records are errors: an empty file would leave a
// trainer without work.
//
// # Paddle
//
// The loops of the reference end a file after record i if i >= n and i mod n = 0. So
// the first file has n+1 records, the others n, the last the rest:
//
//	records, n    PaddleSplit    PaddleConvert
//	0, 4          no file        0
//	4, 4          4              4
//	9, 4          5 4            5 4 0
//	10, 4         5 4 1          5 4 1
//	3, 1          2 1            2 1 0
//
// convert always writes what it holds at the end, so its last file may be empty.
//
// # Names
//
// A Pattern has one %0Wd, the number of the file in at least W digits with zeros, or
// %0Wd-of-%0Wd. What stands behind -of- has two meanings in the world: the number of
// files (OfCount; 10 files end in 00009-of-00010) and, in the design of
// PaddlePaddle, the number of the last file (OfLast; 10 files end in
// 00009-of-00009). A percent sign in a name is written %%; Escape does that.
//
// Readers sort names as text. So %d is refused, and a number that has more digits
// than its verb makes room for is an error.
//
// # Stability
//
// Rules and names are a format: the same rule on the same records gives the same
// files in every version of this package.
package split
