package cephfs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options says which file system is opened, and as whom.
type Options struct {
	// Monitors are the addresses of the monitors, host or host:port. Empty means those in Config.
	Monitors []string
	// Config is a ceph.conf to begin with; empty means none.
	Config string
	// User is the Ceph user, without "client."; empty means "admin".
	User string
	// Keyring is the file that holds the user's key; empty means the one that Config names.
	Keyring string
	// FileSystem is its name in the cluster; empty means the cluster's default one.
	FileSystem string
	// Root is the directory of it that is the root of the tree; empty means "/". It must exist.
	Root string

	// Session names this client to the cluster, different from all others. If it is the same
	// after a crash, what the cluster still holds for the dead program is ended at once, and else
	// after a minute or more. Empty means a fresh name.
	Session string

	// Timeout is how long one call may go without an answer; then it answers Unavailable. 0
	// means 30 seconds.
	Timeout time.Duration

	// Logger takes what an operator should know: lost and new mounts. nil means nothing is said.
	Logger *slog.Logger
}

const (
	openOp         = "cephfs.Open"
	defaultTimeout = 30 * time.Second
)

// checked returns o with defaults filled in, or what is wrong with it.
func (o Options) checked() (Options, error) {
	if len(o.Monitors) == 0 && o.Config == "" {
		return o, pfs.Errorf(openOp, "", pfs.Invalid, "neither monitors nor a ceph.conf are given")
	}
	o.User, o.Root = cmp.Or(o.User, "admin"), cmp.Or(o.Root, "/")
	if o.Session == "" {
		o.Session = pfs.NewID()
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Store is an open CephFS. Its operations are made as root of the store; an owner is known to it by
// his numbers.
type Store interface {
	pfs.FileSystem
	pfs.OwnershipGiver
	pfs.Impersonator

	// Close ends the use of the store. Files that are open then answer Closed.
	Close() error
}

// Open reaches the store and returns it. What is wrong with the options or the store is found
// out now; a store that does not answer is Unavailable within Timeout.
func Open(ctx context.Context, opts Options) (Store, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	return open(ctx, opts)
}
