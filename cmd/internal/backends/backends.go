// Package backends lists the stores that the programs can open: their URL schemes, their options,
// and how to open them. Each scheme has a file.
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
	options []string // names of its options

	// prepare checks everything that can be checked without the store, and returns the
	// function that opens it.
	prepare func(r *request) (opener, error)
}

// opener opens the requested store.
type opener func(ctx context.Context, by Caller) (Store, error)

// backends lists all stores.
var backends = map[string]backend{
	"file":   {fileForm, nil, prepareFile},
	"mem":    {memForm, nil, prepareMem},
	"hdfs":   {hdfsForm, hdfsOptions, prepareHDFS},
	"cephfs": {cephForm, cephOptions, prepareCeph},
	"sftp":   {sftpForm, sftpOptions, prepareSFTP},
}

// Forms lists the URLs for help texts.
const Forms = fileForm + ", " + hdfsForm + ", " + cephForm + ", " + sftpForm + ", " + memForm

// Spec identifies a store and its options. It contains no secrets: options name the files that hold
// them.
type Spec struct {
	// URL of the store. It may contain options after a "?", as in a web URL.
	URL string
	// Options by name; the URL's scheme determines the valid names.
	Options map[string]string
	// Dir is the directory for relative file names in options; empty means the current one.
	Dir string
}

// Caller is the program that opens a store.
type Caller struct {
	// Logger receives messages for operators; nil discards them.
	Logger *slog.Logger
	// Session names the program to stores that keep sessions: a later one of that name replaces
	// this one. Empty means a unique name.
	Session string
	// Timeout bounds calls without an answer if the store's options do not; 0 is the store's
	// default.
	Timeout time.Duration
}

// Store is an open store. Close releases it.
type Store struct {
	pfs.FileSystem
	Close func() error

	// Account identifies the rights with which the store is used: the user or principal, or the file with its token. It is
	// empty if they are the rights of this process.
	Account string
}

// Check returns Invalid unless such a store could be opened.
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
