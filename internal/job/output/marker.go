package output

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// The names of the files of this package in the directory of a run.
const (
	Success    = "_SUCCESS"    // the entry ended with 0, and all outputs are there
	Failed     = "_FAILED"     // the entry failed or was stopped; all outputs are there
	Incomplete = "_INCOMPLETE" // outputs are missing, or nobody knows how the entry ended or whether they are complete

	Manifest   = "_MANIFEST"
	uploading  = "_UPLOADING"
	restartsIn = "restarts"
)

// markers are the names of markers.
var markers = []string{Success, Failed, Incomplete}

// reserved reports whether an output in the top directory cannot have this name.
func reserved(name string) bool { return slices.Contains(job.ReservedOutputs, name) }

// Marker is the content of a marker.
type Marker struct {
	Version int `json:"pfs_outputs"`
	Run
	Exit     *job.Exit `json:"exit,omitempty"` // nil if there is no exit record
	Files    int64     `json:"files"`
	Bytes    int64     `json:"bytes"`
	LeftOut  int64     `json:"left_out"`
	Reasons  []string  `json:"reasons,omitempty"` // why outputs are incomplete, the first ones
	Manifest string    `json:"manifest"`          // digest of the manifest; empty if there is none, see Abandon
	Uploader string    `json:"uploader"`          // see claim; empty if Abandon wrote the marker
	Written  time.Time `json:"written"`

	// AfterExit is the time from the end of the entry to this marker, and Rate the upload rate in bytes a
	// second. Both tell how long a pod must live after its program has ended.
	AfterExit float64 `json:"seconds_after_exit,omitempty"`
	Rate      int64   `json:"bytes_per_second,omitempty"`

	// Name is the name of the file: Success, Failed or Incomplete.
	Name string `json:"-"`
}

// RestartDir returns the directory of a run after a restart in place, below that of the worker.
func RestartDir(worker pfs.Path, restart int) pfs.Path {
	if restart == 0 {
		return worker
	}
	return worker.Join(restartsIn).Join(strconv.Itoa(restart))
}

// ReadMarker returns the marker of the run of a rank in dir, or nil if there is none.
func ReadMarker(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) (*Marker, error) {
	for _, name := range markers {
		m := &Marker{Name: name}
		err := readRecord(ctx, fsys, dir.Join(name), m)
		switch {
		case errors.Is(err, pfs.NotExist):
			continue
		case err != nil:
			return nil, err
		case m.Version != formatVersion:
			return nil, pfs.Errorf("output.ReadMarker", dir.Join(name), pfs.Unsupported, "version %d is not known to this program", m.Version)
		}
		return m, nil
	}
	return nil, nil
}
