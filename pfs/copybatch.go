package pfs

import "context"

// BatchCopy is one small file of CopyBatch.
type BatchCopy struct {
	Source, Target Path
	Size           int64 // expected length of the source
	NoReplace      bool
	NewTime        bool   // see CopyOptions
	Digest         string // of the bytes that were copied; set by CopyBatch
}

// BatchCopier copies many small files for little more than the price of one. Like BatchReader
// it is for clients; callers copy file by file where it is missing.
type BatchCopier interface {
	// CopyBatch makes Target a copy of Source, with mode and time, for each file: whole or
	// not at all, and verified if the source has a stored digest. It returns one error a
	// file, in order; nil means done and durable.
	//
	// A source that has not Size bytes, or that changed during the copy, answers Conflict.
	// A file that cannot be in a batch answers Unsupported.
	CopyBatch(ctx context.Context, files []BatchCopy) []error
}
