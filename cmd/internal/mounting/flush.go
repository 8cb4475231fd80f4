package mounting

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

// The commands of fuse.Control.
const (
	flushCommand   = "flush"
	publishCommand = "publish"
	discardCommand = "discard"
)

// Pending counts the files and bytes written through a mount that the store does not have yet.
type Pending struct {
	Files int           `json:"files"`
	Bytes int64         `json:"bytes"`
	List  []pendingFile `json:"list"` // the oldest of them
}

type pendingFile struct {
	Path   string    `json:"path"` // on the service or store
	State  string    `json:"state"`
	Bytes  int64     `json:"bytes"`
	Since  time.Time `json:"since"`
	Reason string    `json:"reason,omitempty"`
	ID     string    `json:"id"`
	Data   string    `json:"data"` // the local file with the content
}

// pendingOf returns the Pending of a mount.
func pendingOf(m fuse.Status) (p Pending) {
	if text, err := json.Marshal(m.Pending); err == nil {
		_ = json.Unmarshal(text, &p) // of a mount by another version
	}
	return p
}

// Flush returns the command flush.
func Flush(a *app.App) *cli.Command {
	var publish, discard string
	return a.NewCommand(app.Spec{
		Name: "flush", Args: "[PATH]", Most: 1,
		Summary: "upload what was written through mounts, and wait for it",
		Text: `Uploads the staged files of the mount that contains PATH, or of all mounts, including open
files. Files are staged on the local disk if the store cannot write at any offset (HDFS).
The command also waits for bytes that are being sent to other stores. The command status
lists staged files:

open        a program has the file open, with changes that it has not synced
pending     the file was closed, but its upload failed; it is retried twice a minute
incomplete  the file was open when the process of the mount died. It is not uploaded by
            itself: --publish or --discard it, or look at the local file first

A pending file that others have changed or removed meanwhile also needs one of these.`,
		Examples: []string{a.Program + " flush ~/pfs", a.Program + " flush --publish 332937152885e4ea4be44e9533e94daa ~/pfs"},
		Exits:    []cliio.Code{cliio.NotFound, cliio.Exists, cliio.Unavailable, cliio.Partly},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "publish", Usage: "upload the incomplete or pending file `ID`, in place of what the store has", Destination: &publish},
			&cli.StringFlag{Name: "discard", Usage: "remove the incomplete or pending file `ID`", Destination: &discard},
		},
		Run: func(_ context.Context, operands []string) error {
			if (publish != "" || discard != "") && (len(operands) == 0 || publish != "" && discard != "") {
				return cliargs.Usagef("--publish and --discard need PATH, and exclude each other")
			}
			mounts, err := mountsAt(operands)
			if err != nil {
				return err
			}
			if publish != "" {
				return fuse.Control(mounts[0].MountPoint, publishCommand+"/"+publish)
			}
			if discard != "" {
				return fuse.Control(mounts[0].MountPoint, discardCommand+"/"+discard)
			}
			var failed error
			for _, m := range mounts {
				if err := fuse.Control(m.MountPoint, flushCommand); pfs.KindOf(err) != pfs.Unsupported || len(operands) > 0 && m.State != "serving" {
					failed = cmp.Or(failed, err)
				}
			}
			if mounts, err = mountsAt(operands); err != nil {
				return err
			}
			left := false
			for _, m := range mounts {
				if p := pendingOf(m); p.Files > 0 {
					a.Printf("%s\n", a.Name(m.MountPoint))
					printPending(a, p)
					left = true
				}
			}
			if left {
				return cliio.Reported(cliio.Partly)
			}
			return failed
		},
	})
}

// printPending prints the files that are not on the store yet.
func printPending(a *app.App, p Pending) {
	for _, f := range p.List {
		a.Printf("  %-10s %10s  %s  %s", f.State, cliio.Size(f.Bytes), f.ID, a.Name(f.Path))
		if f.Reason != "" {
			a.Printf(" (%s)", a.Name(f.Reason))
		}
		a.Printf("\n")
	}
	if more := p.Files - len(p.List); more > 0 {
		a.Printf("  and %d more\n", more)
	}
}

// mountsAt returns the mounts to which operands belong: the one that contains a path, or all.
func mountsAt(operands []string) ([]fuse.Status, error) {
	if len(operands) == 0 {
		return fuse.Mounts()
	}
	m, err := fuse.MountOf(operands[0])
	if err != nil {
		return nil, err
	}
	return []fuse.Status{m}, nil
}
