package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/rogpeppe/go-internal/lockedfile"
	"go.yaml.in/yaml/v3"
)

// Edit loads the file name, calls change, and writes the file, excluding other processes that do
// the same. If change fails nothing is written.
func Edit(name string, change func(*File) error) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	unlock, err := lock(name + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	f, err := Load(name)
	if err != nil {
		return err
	}
	if err := change(f); err != nil {
		return err
	}
	data, err := f.doc.encode()
	if err != nil {
		return err
	}
	return writeFile(name, data)
}

// lock waits for the lock file name. If files cannot be locked it continues without: simultaneous
// changes are rare, and the loser only has to log in again.
func lock(name string) (unlock func(), err error) {
	unlock, err = lockedfile.MutexAt(name).Lock()
	if errors.Is(err, errors.ErrUnsupported) {
		return func() {}, nil
	}
	return unlock, err
}

// Put adds the entry e, or changes the entry of the same name. It removes keys that are empty in e,
// except for active, usercert and userkey, which stay.
func (f *File) Put(e Entry) error {
	if reason := checkName(e.Name); reason != "" {
		return fmt.Errorf("%w: datacenter %q: %s", pfs.Invalid, e.Name, reason)
	}
	if old, ok := f.Find(e.Name); ok && old.Err != nil && f.count(e.Name) > 1 {
		return old.Err
	}
	n := f.doc.entry(e.Name)
	texts := map[string]string{
		"name": e.Name, "username": e.Username, "password": e.Password, "endpoint": e.Endpoint, "fingerprint": e.Fingerprint,
	}
	for _, key := range entryKeys {
		if text, ok := texts[key]; ok {
			set(n, key, optional(text))
		}
	}
	var insecure *yaml.Node
	if e.Insecure {
		insecure = boolean(true)
	}
	set(n, "insecure", insecure)
	return f.reparse()
}

func optional(text string) *yaml.Node {
	if text == "" {
		return nil
	}
	return scalar(text)
}

func (f *File) count(name string) (n int) {
	for _, e := range f.Entries {
		if e.Name == name {
			n++
		}
	}
	return n
}

// SetCurrent makes the entry name the current one, in each way that the file uses already.
func (f *File) SetCurrent(name string) error {
	if _, err := f.Get(name); err != nil {
		return err
	}
	hasActive := false
	for _, n := range f.doc.entries().Content {
		v := get(n, "active")
		own := get(n, "name")
		is := own != nil && own.Value == name
		if v != nil {
			hasActive = true
			set(n, "active", boolean(is))
		}
	}
	if hasActive {
		set(f.doc.entry(name), "active", boolean(true))
	}
	if !hasActive || get(f.doc.top, keyCurrent) != nil {
		set(f.doc.top, keyCurrent, scalar(name))
	}
	return f.reparse()
}

// Delete removes the entry name. If it was the current one, there is no current entry afterwards.
func (f *File) Delete(name string) error {
	e, err := f.Get(name)
	if err != nil {
		return err
	}
	if f.count(name) > 1 {
		return e.Err
	}
	list := f.doc.entries()
	list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool {
		own := get(n, "name")
		return own != nil && own.Value == name
	})
	if f.current == name {
		set(f.doc.top, keyCurrent, nil)
	}
	return f.reparse()
}

// reparse updates the entries from the document.
func (f *File) reparse() error {
	data, err := f.doc.encode()
	if err != nil {
		return err
	}
	g, err := Parse(f.Name, data)
	if err != nil {
		return err
	}
	*f = *g
	return nil
}

// writeFile replaces the file name atomically, readable only by its owner. A link stays a link.
func writeFile(name string, data []byte) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // already renamed on success
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
