package pfs

import "context"

// BatchCopy is one small file of CopyBatch.
type BatchCopy struct {
	Source, Target Path
	Size           int64 // that the source is taken to have
	NoReplace      bool
	NewTime        bool   // see CopyOptions
	Digest         string // of the bytes that were copied; set by CopyBatch
}

// BatchCopier copies many small files for little more than the price of one. Like
// BatchReader it is for clients; whoever finds none copies file by file.
type BatchCopier interface {
	// CopyBatch makes of each Source a copy at Target, with mode and time, whole or not at
	// all, and verified where the source keeps a digest. The errors stand in the order of
	// the files, nil for those that are done and durable.
	//
	// A source of another length than Size answers Conflict, and so does one that changed
	// meanwhile. A file that no batch can take answers Unsupported.
	CopyBatch(ctx context.Context, files []BatchCopy) []error
}
