//go:build linux

package local

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
)

// dir is the directory of a job.
type dir string

// jobDir returns the directory of a job below top.
func jobDir(top, datacenter, user, name string) dir {
	sum := sha256.Sum256([]byte(datacenter + "\x00" + user + "\x00" + name))
	return dir(filepath.Join(top, job.Slug(name, 24)+"-"+hex.EncodeToString(sum[:4])))
}

// The files of a job.
const (
	stateFile   = "state.json"
	environFile = "environ"
	killFile    = "kill"
	lockFile    = "lock"
	logFile     = "supervisor.log"
	packageDir  = "package"
	inputsDir   = "inputs"
)

// mount returns the directory that has the tree /pfs by a mount of the job. It is not in d, which is
// removed with all that is in it.
func (d dir) mount() string { return string(d) + ".mnt" }

func (d dir) file(name string) string { return filepath.Join(string(d), name) }

// rank returns the directory of a run of a worker.
func (d dir) rank(w job.Worker) job.RankDir {
	return job.RankDir(filepath.Join(string(d), "attempts", strconv.Itoa(w.Attempt), w.Name, strconv.Itoa(w.Restarts)))
}

// state is the persistent state of a job, from which another supervisor takes over.
type state struct {
	Record  job.Record `json:"record"`
	Service string     `json:"service"` // Options.Service

	Root   string        `json:"root,omitempty"`
	Grace  time.Duration `json:"grace"`
	Staged bool          `json:"staged"` // the package is there

	// Of the attempt. Its age is measured by the clock that nobody sets, which starts with the machine.
	Trainers []string      `json:"trainers,omitempty"` // HOST:PORT
	Pservers []string      `json:"pservers,omitempty"`
	Boot     string        `json:"boot,omitempty"`
	Began    time.Duration `json:"began,omitempty"`

	// Published is true if the store has the last Record, and a marker for each run that began.
	Published bool `json:"published"`
}

// load reads the state of a job.
func (d dir) load() (*state, error) {
	data, err := os.ReadFile(d.file(stateFile))
	if err != nil {
		return nil, err
	}
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, pfs.Errorf("local.load", "", pfs.Integrity, "%s: %v", d.file(stateFile), err)
	}
	return s, nil
}

func (d dir) save(s *state) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	// Two files of a fixed size take turns. Both are written in place, so a full disk prevents neither.
	name, spare := d.file(stateFile), d.file(stateFile)+".new"
	if err := overwrite(spare, data); err != nil {
		return err
	}
	if unix.Renameat2(unix.AT_FDCWD, spare, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE) != nil {
		// There is no state yet, or the file system cannot exchange names.
		if err := os.Rename(spare, name); err != nil {
			return err
		}
		_ = overwrite(spare, data)
	}
	top, err := os.Open(string(d))
	if err != nil {
		return err
	}
	_ = top.Sync() // not every system can
	return top.Close()
}

// overwrite writes JSON to the file name, and spaces behind it: the file never shrinks, and the next state
// may be larger.
func overwrite(name string, data []byte) error {
	const margin = 4096
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	size := max(info.Size(), int64(len(data)+margin))
	n, err := f.Write(bytes.Repeat([]byte(" "), int(size)-len(data)))
	if err != nil {
		err = f.Truncate(int64(len(data) + n)) // the disk is full: without a margin
	}
	return cmp.Or(err, f.Sync())
}

// saveEnviron keeps the environment of the command for launchers.
func (d dir) saveEnviron(environ []string) error {
	data, err := json.Marshal(environ)
	if err != nil {
		return err
	}
	return job.WriteFile(d.file(environFile), data, 0o600)
}
