package transfer

import (
	"fmt"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// EventKind is the type of an Event.
type EventKind uint8

// The kinds of events. With Options.DryRun, Done, Deleted and Directory report intended changes.
const (
	Start     EventKind = iota // a file of more than one request begins
	Progress                   // Bytes of Size are done; a few times a second at most
	Done                       // a file or link is whole at the target
	Skipped                    // nothing was done; Reason is the cause
	Failed                     // Err is the cause; the job continues
	Retry                      // Err is temporary; the operation is tried again
	Deleted                    // the target entry Target is gone
	Directory                  // the directory Target was made
	Same                       // Verify: equal
	Missing                    // Verify: the second tree lacks it
	Extra                      // Verify: the first tree lacks it
	Different                  // Verify: not equal; Err names the difference
)

var eventKindTexts = [...]string{
	"start", "progress", "done", "skipped", "failed", "retry", "deleted", "directory",
	"same", "missing", "extra", "different",
}

// String returns the kind in one lower-case word, as it appears in JSON output.
func (k EventKind) String() string {
	if int(k) < len(eventKindTexts) {
		return eventKindTexts[k]
	}
	return fmt.Sprintf("event %d", uint8(k))
}

// Reason is the cause why a file was skipped.
type Reason uint8

// The reasons. Special and Link leave something out that the source has.
const (
	NoReason Reason = iota
	Equal           // the target has it already
	Exists          // the target has something of that name, and NoReplace is set
	NotNewer        // the target is as new, and Update is set
	Special         // a device, socket or pipe
	Link            // a link, and SkipLinks is set
	Declined        // the target has something of that name, and Confirm said no
)

var reasonTexts = [...]string{
	"", "the same already", "exists already", "not newer than the target",
	"a special file (device, socket or pipe)", "a symbolic link", "not to be replaced",
}

// String returns the reason in plain words, "" for NoReason.
func (r Reason) String() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Event is one thing that happened in a job.
type Event struct {
	Kind   EventKind
	Path   pfs.Path // at the source; empty for Deleted and Extra
	Target pfs.Path // path at the target; empty for ToWriter
	IsDir  bool     // the entry is a directory

	Size    int64 // size of the file in bytes; -1 if unknown
	Bytes   int64 // of Size that are done
	Files   int64 // of Deleted: files in a directory that was removed whole
	Resumed int64 // of Bytes that were there from an earlier attempt

	Digest string // of Done and Same: the tree digest, where it was computed
	Reason Reason // of Skipped
	Err    error  // of Failed, Retry and Different

	// Waited is the time since the first failure of a retried operation, as in Options.Patience. It
	// is set in a Retry after a pause.
	Waited time.Duration
}
