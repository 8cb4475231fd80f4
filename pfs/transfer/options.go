package transfer

import (
	"context"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// Defaults of Options.
const (
	DefaultParallel = 4
	DefaultMemory   = 64 << 20
)

// Options are the options of a job. The zero value copies everything, replaces files that differ,
// follows links and keeps times and modes.
type Options struct {
	// Origin identifies the source machine: a host and user name, or a datacenter. It is part of
	// the IDs of uploads, so that copies of equal paths from two machines do not share an upload.
	Origin string

	// StagedID, if not nil, returns the ID of the upload for the opened version of a source.
	// Different versions and targets must have different IDs, or their staged bytes would be mixed.
	StagedID func(version pfs.Info) string

	// Overwrite decides about target files that exist.
	Overwrite Overwrite

	// Confirm, if not nil, is called before an existing file or link at the target is replaced. If
	// it returns false, the target stays; an error is a failure of that file. Several goroutines
	// may call Confirm at a time. A dry run does not call it.
	Confirm func(ctx context.Context, target pfs.Path) (bool, error)

	// Quick treats files of equal size and modification time as equal. Without it,
	// files are equal if their sizes and digests are. A stored digest is used if it is
	// trusted; otherwise the store computes the digest if it can, or the job reads the file.
	Quick bool

	// Filter selects the entries that are copied, deleted or compared. See Rule.
	Filter []Rule

	// Links decides how symbolic links in the source are copied.
	Links Links

	// Delete makes the target a mirror: entries that the source lacks are removed after everything
	// was copied. If anything failed, nothing is removed. Entries that Filter excludes stay.
	Delete bool

	// DeleteAll lets Delete empty a target whose source has no file at all, such as a
	// file system that is not mounted. Without it such a pair is refused with a
	// [DeleteError] before anything is copied.
	DeleteAll bool

	// MaxDelete is the most files that Delete may remove for one pair; 0 means any number,
	// less than 0 none. A pair that needs more is refused in the same way.
	MaxDelete int64

	// Parents makes the directories above the target that are missing.
	Parents bool

	// NewTime and NewMode give copies the current time and the mode 0644 (directories 0755) instead
	// of those of the source.
	NewTime bool
	NewMode bool

	// DryRun changes nothing; the events report the intended changes. Each target is used through a
	// Rehearsal: the caller's, if the target's FS is one, or else a new one.
	DryRun bool

	// Parallel is how many chunks, batches of small files and directories are in
	// progress at once; 0 means DefaultParallel.
	Parallel int

	// Pool bounds the bytes of content held at once, and may be shared by many jobs;
	// nil means one of DefaultMemory bytes.
	Pool *Pool

	// BytesPerSecond limits the average rate of moved bytes, with bursts of a chunk; 0 means no
	// limit. Bytes that a service copies internally do not count.
	BytesPerSecond int64

	// Retry is the retry policy if the context carries no retry.Budget. A job of trees ends when the
	// budget is spent, however many files it has.
	Retry retry.Policy

	// Algorithm is the digest that Verify compares; empty means BLAKE3.
	Algorithm string

	// Kept makes Verify trust stored XXH3 digests, and read only files without one. Algorithm
	// must then be XXH3 or empty.
	Kept bool

	// Totals lists the sources ahead of the work, so that Stats soon has the totals. Sources
	// that take longer than a moment are then listed twice.
	Totals bool

	// Events, if not nil, is called with each event. Only one call runs at a time; the job waits
	// for it.
	Events func(Event)
}

// Overwrite is a policy for target files that exist. In every case a file that is
// the same is not copied again.
type Overwrite uint8

// The policies.
const (
	Replace   Overwrite = iota // replace files that differ
	NoReplace                  // leave every file that exists
	Update                     // replace files that differ and are older than the source
)

// Links is a policy for symbolic links in the source.
type Links uint8

// The policies.
const (
	Follow    Links = iota // copy the target of the link; a loop is an error of that link
	Keep                   // make the same link at the target
	SkipLinks              // leave links out
)

// End is a file or tree of a file system.
type End struct {
	FS   pfs.FileSystem
	Path pfs.Path
}

// Follow returns e and its Info or, if e is a link, those of its target.
func (e End) Follow(ctx context.Context) (End, pfs.Info, error) {
	info, err := e.FS.Stat(ctx, e.Path)
	if err != nil || !info.IsLink() {
		return e, info, err
	}
	to, err := ResolveLink(ctx, e.FS, e.Path)
	if err != nil {
		return e, info, err
	}
	e.Path = to
	info, err = e.FS.Stat(ctx, to)
	return e, info, err
}

// Pair is one copy: the file or tree Source becomes the file or tree Target.
type Pair struct {
	Source, Target End
}

func (o Options) withDefaults() Options {
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if o.Pool == nil {
		o.Pool = NewPool(DefaultMemory)
	}
	if o.Algorithm == "" && o.Kept {
		o.Algorithm = digest.XXH3
	}
	if o.Algorithm == "" {
		o.Algorithm = digest.BLAKE3
	}
	return o
}

// check answers Invalid for options that contradict themselves.
func (o Options) check() error {
	const op = "transfer.New"
	switch {
	case !digest.Known(o.Algorithm):
		return pfs.Errorf(op, "", pfs.Unsupported, "digest algorithm %q: this program knows %q and %q",
			o.Algorithm, digest.XXH3, digest.BLAKE3)
	case o.Kept && o.Algorithm != digest.XXH3:
		return pfs.Errorf(op, "", pfs.Invalid, "the digests that stores keep are %s, not %s", digest.XXH3, o.Algorithm)
	case o.Overwrite > Update:
		return pfs.Errorf(op, "", pfs.Invalid, "overwrite policy %d", o.Overwrite)
	case o.Links > SkipLinks:
		return pfs.Errorf(op, "", pfs.Invalid, "link policy %d", o.Links)
	case o.BytesPerSecond < 0:
		return pfs.Errorf(op, "", pfs.Invalid, "rate limit of %d bytes per second", o.BytesPerSecond)
	}
	return nil
}
