package config

import (
	"fmt"
	"strings"

	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/paddlecloud/pfs/internal/strictyaml"
	"github.com/paddlecloud/pfs/pfs"
)

// Find returns the entry named name; ok is false if there is none. The entry may have an Err.
func (f *File) Find(name string) (e Entry, ok bool) {
	for _, e := range f.Entries {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

// Get is Find with an error of Kind NotExist if there is none.
func (f *File) Get(name string) (Entry, error) {
	if e, ok := f.Find(name); ok {
		return e, nil
	}
	return Entry{}, &strictyaml.Error{File: f.Name, Text: f.noSuch(name), Kind: pfs.NotExist}
}

// Check returns an error if the file selects two current datacenters, or a missing one.
func (f *File) Check() error {
	_, err := f.chosen()
	return err
}

// Current returns the default entry: the one that current-datacenter names or that is active, or
// else the only one. If it has an Err, Current returns that.
func (f *File) Current() (Entry, error) {
	e, err := f.chosen()
	switch {
	case err != nil:
		return Entry{}, err
	case e != nil:
		return *e, e.Err
	case len(f.Entries) == 1:
		return f.Entries[0], f.Entries[0].Err
	case f.absent:
		return Entry{}, pfs.Errorf("config.Current", "", pfs.Unauthenticated, "there is no configuration %s", f.Name)
	case len(f.Entries) == 0:
		return Entry{}, pfs.Errorf("config.Current", "", pfs.Unauthenticated,
			"%s names no datacenter", f.Name)
	}
	return Entry{}, f.errorf(0, "none of the datacenters %s is the current one: paddlectl config use-context NAME",
		strings.Join(f.Names(), ", "))
}

// chosen returns the entry that the file selects, or nil.
func (f *File) chosen() (*Entry, error) {
	active, err := f.active()
	if err != nil || f.current == "" {
		return active, err
	}
	for i := range f.Entries {
		e := &f.Entries[i]
		if e.Name != f.current {
			continue
		}
		if active != nil && active.Name != e.Name {
			return nil, f.errorf(f.currentLine,
				"current-datacenter is %q, but %q (line %d) is active: keep one of the two, or run paddlectl config use-context NAME",
				f.current, active.Name, active.Line)
		}
		return e, nil
	}
	return nil, f.errorf(f.currentLine, "current-datacenter: %s", f.noSuch(f.current))
}

// active returns the entry with "active: true", or nil.
func (f *File) active() (*Entry, error) {
	var active *Entry
	for i := range f.Entries {
		e := &f.Entries[i]
		if !e.Active {
			continue
		}
		if active != nil {
			return nil, f.errorf(e.Line,
				"two datacenters are active, %q (line %d) and %q (line %d): remove one \"active: true\", or run paddlectl config use-context NAME",
				active.Name, active.Line, e.Name, e.Line)
		}
		active = e
	}
	return active, nil
}

// Names returns the names of the entries.
func (f *File) Names() []string {
	var names []string
	for _, e := range f.Entries {
		if e.Name != "" {
			names = append(names, e.Name)
		}
	}
	return names
}

// noSuch returns a message that there is no datacenter name, with the existing ones.
func (f *File) noSuch(name string) string {
	text := fmt.Sprintf("there is no datacenter %q", name)
	if near := nearest.Word(name, f.Names()); near != "" {
		return text + fmt.Sprintf(": did you mean %q?", near)
	}
	if len(f.Entries) == 0 {
		return text + ", nor any other"
	}
	return text + ", only " + strings.Join(f.Names(), ", ")
}
