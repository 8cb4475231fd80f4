// Package backends is the list of stores that the programs can use: a scheme of a
// URL, the options that such a store has, and how it is opened. Each scheme has a
// file.
package backends

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// backend is one kind of store.
type backend struct {
	form    string   // its URL, for help texts
	options []string // names of the options that it takes

	// prepare checks all that can be checked without the store.
	prepare func(r *request) (opener, error)
}

// opener opens the store that was asked for.
type opener func(ctx context.Context, by Caller) (Store, error)

// backends is all of them.
var backends = map[string]backend{
	"file":   {fileForm, nil, prepareFile},
	"mem":    {memForm, nil, prepareMem},
	"hdfs":   {hdfsForm, hdfsOptions, prepareHDFS},
	"cephfs": {cephForm, cephOptions, prepareCeph},
}

// Forms shows the URLs for help texts.
const Forms = fileForm + ", " + hdfsForm + ", " + cephForm + ", " + memForm

// Spec says which store is meant and how it is used. No secret is part of it: options
// name the files that hold them.
type Spec struct {
	// URL of the store. Options may stand in it behind a "?", as in a URL of the web.
	URL string
	// Options by name; which there are depends on the URL's scheme.
	Options map[string]string
	// Dir is the directory that relative names of files in options begin at; empty
	// means the current one.
	Dir string
}

// Caller is the program that opens a store.
type Caller struct {
	// Logger takes what an operator should know; nil means that nobody listens.
	Logger *slog.Logger
	// Session names the program to stores that keep sessions: another one of that name
	// takes the place of this one. Empty means a name that nobody else has.
	Session string
	// Timeout ends calls that get no answer, where the store's options say nothing; 0
	// is the store's default.
	Timeout time.Duration
}

// Store is an open store. Close releases it.
type Store struct {
	pfs.FileSystem
	Close func() error
}

// Check answers Invalid unless such a store could be opened.
func Check(s Spec) error {
	_, err := s.prepare()
	return err
}

// Open opens a store.
func Open(ctx context.Context, s Spec, by Caller) (Store, error) {
	open, err := s.prepare()
	if err != nil {
		return Store{}, err
	}
	if by.Logger == nil {
		by.Logger = slog.New(slog.DiscardHandler)
	}
	return open(ctx, by)
}

func (s Spec) prepare() (opener, error) {
	const op = "backends.Check"
	scheme, _, ok := strings.Cut(s.URL, ":")
	if !ok || scheme == "" || strings.ContainsAny(scheme, "/%") {
		return nil, pfs.Errorf(op, "", pfs.Invalid, "store is not a URL: %s is needed", Forms)
	}
	b, ok := backends[scheme]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(backends)), ", ")
		return nil, pfs.Errorf(op, "", pfs.Invalid, "no store has the scheme %q; there are: %s", scheme, known)
	}
	r, err := newRequest(scheme, b.options, s)
	if err != nil {
		return nil, err
	}
	open, err := b.prepare(r)
	if err == nil {
		err = r.err
	}
	if err != nil && pfs.KindOf(err) != pfs.Invalid {
		err = pfs.E(op, "", pfs.Invalid, err)
	}
	return open, err
}
