package transfer

import "fmt"

// Stats is what a job has found and done so far.
type Stats struct {
	// Files and Bytes are the files found in the source so far and their sizes.
	// Complete says that everything was found: only then they are totals. With
	// Options.Totals that is long before everything is done.
	Files, Bytes int64
	Complete     bool

	// FilesDone were copied (Verify: compared). BytesDone counts the bytes of
	// files in progress too, and those of skipped files, so that it ends equal
	// to Bytes if nothing fails. Of these, BytesResumed were there from an
	// earlier attempt and BytesSkipped belong to files that needed no copy.
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
	// NotDeleted says that the target was not made a mirror because of the
	// failures.
	NotDeleted bool
}

// Error says how much is missing and what failed first.
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
