package job

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// RankDir is the local directory of one run of a rank: of one worker, in one attempt, after one
// restart. The launcher, which runs the entry, and the uploader share it. In a pod it is a volume of
// both containers.
type RankDir string

// Output is the directory for outputs: $PFS_OUTPUT.
func (d RankDir) Output() string { return filepath.Join(string(d), "output") }

// Logs is the directory for the output of the entry, in files named by LogName.
func (d RankDir) Logs() string { return filepath.Join(string(d), "logs") }

// Root is the directory for the files trainer_id and trainer_count where several ranks share the
// root of a machine.
func (d RankDir) Root() string { return filepath.Join(string(d), "root") }

// Run is the directory for the messages between launcher and uploader.
func (d RankDir) Run() string { return filepath.Join(string(d), "run") }

// Make makes the directories.
func (d RankDir) Make() error {
	for _, dir := range []string{d.Output(), d.Logs(), d.Root(), d.Run()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Exit is the exit record: how the entry ended. The launcher writes it when no process of the entry
// is left, so nobody changes the outputs any more.
type Exit struct {
	Code    int       `json:"code"`              // 128 + the number of the signal if a signal ended the entry
	Signal  string    `json:"signal,omitempty"`  // its name
	Reason  string    `json:"reason,omitempty"`  // in the user's terms, of a failure
	Stopped bool      `json:"stopped,omitempty"` // the launcher was asked to end it
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
}

// Uploaded is the uploader's acknowledgement: its work for the rank is done.
type Uploaded struct {
	Marker string `json:"marker"`           // _SUCCESS, _FAILED or _INCOMPLETE; empty if none could be written
	Reason string `json:"reason,omitempty"` // why the outputs are incomplete
	Files  int64  `json:"files"`
	Bytes  int64  `json:"bytes"`
	Rate   int64  `json:"rate,omitempty"` // bytes a second, if enough was sent to tell
}

const (
	exitName     = "exit.json"
	uploadedName = "uploaded.json"
	spare        = 4096 // the most that a record takes
)

// Reserve makes room for the exit record and the acknowledgement, so that a full disk does not prevent
// WriteExit and WriteUploaded.
func (d RankDir) Reserve() error {
	for _, name := range []string{exitName, uploadedName} {
		if err := os.WriteFile(filepath.Join(d.Run(), name+".new"), make([]byte, spare), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// WriteExit writes the exit record.
func (d RankDir) WriteExit(e *Exit) error { return d.write(exitName, e) }

// ReadExit returns the exit record, or nil while there is none.
func (d RankDir) ReadExit() (*Exit, error) { return read[Exit](d, exitName) }

// WriteUploaded writes the acknowledgement.
func (d RankDir) WriteUploaded(u *Uploaded) error { return d.write(uploadedName, u) }

// ReadUploaded returns the acknowledgement, or nil while there is none.
func (d RankDir) ReadUploaded() (*Uploaded, error) { return read[Uploaded](d, uploadedName) }

// write replaces a record as a whole. It writes over a reserved file before it shortens it.
func (d RankDir) write(name string, record any) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	return WriteFile(filepath.Join(d.Run(), name), append(data, '\n'), 0o644)
}

func read[T any](d RankDir, name string) (*T, error) {
	data, err := os.ReadFile(filepath.Join(d.Run(), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	record := new(T)
	return record, json.Unmarshal(data, record)
}

// WriteFile replaces the file name as a whole: after a crash it has its old or its new content.
func WriteFile(name string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Truncate(int64(len(data)))
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	_ = dir.Sync() // not every system can
	return dir.Close()
}
