package transfer

import "fmt"

// Stats are the current totals of a job.
type Stats struct {
	// Files and Bytes are the number and size of the files found in the source so far. If Complete
	// is true, they are final. With Options.Totals that is long before the job ends.
	Files, Bytes int64
	Complete     bool

	// FilesDone is the number of copied files (Verify: compared files). BytesDone includes the
	// bytes of files in progress and of skipped files, so that it ends equal to Bytes if nothing
	// fails. Of these, BytesResumed came from an earlier attempt and BytesSkipped belong to files
	// that needed no copy.
	FilesDone    int64
	BytesDone    int64
	BytesResumed int64
	BytesSkipped int64

	Dirs    int64 // directories made
	Skipped int64 // files that needed no copy: equal, existing, not newer
	Omitted int64 // special files, and links with SkipLinks
	Failed  int64 // files, directories and links that could not be copied
	Deleted int64 // files and links removed from the target
	Retries int64 // operations that were tried again

	// Of Verify.
	Same, Missing, Extra, Different int64
}

// Left returns how many of the Files were neither done nor skipped, and did not fail.
func (s Stats) Left() int64 { return max(0, s.Files-s.FilesDone-s.Skipped-s.Failed) }

// Incomplete is the error of a job that did not do all of its work.
type Incomplete struct {
	Stats Stats
	// First is the first failure, nil if entries were only left out.
	First error
	// NotDeleted is true if nothing was deleted because of failures.
	NotDeleted bool
}

// Error returns the number of failures and the first one.
func (e *Incomplete) Error() string {
	text := fmt.Sprintf("%d failed", e.Stats.Failed)
	if e.Stats.Omitted > 0 {
		text += fmt.Sprintf(", %d left out", e.Stats.Omitted)
	}
	text += fmt.Sprintf("; %d files in all", e.Stats.Files)
	if e.NotDeleted {
		text += "; nothing was deleted"
	}
	if e.First != nil {
		text += "; the first: " + e.First.Error()
	}
	return text
}

// Unwrap returns the first failure.
func (e *Incomplete) Unwrap() error { return e.First }
