package cephfs

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// Options selects a file system and a user.
type Options struct {
	// Monitors are the addresses of the monitors, host or host:port. Empty means those in Config.
	Monitors []string
	// Config is a ceph.conf to begin with; empty means none.
	Config string
	// User is the Ceph user, without "client."; empty means "admin".
	User string
	// Keyring is the file that holds the user's key; empty means the one that Config names.
	Keyring string
	// FileSystem is the name of the file system; empty means the cluster's default.
	FileSystem string
	// Root is the directory of the file system that is the root of the tree. It must exist; empty means "/".
	Root string

	// Session names this client to the cluster; no other client may have the same name. If a
	// program uses the same name again after a crash, the cluster ends the session of the dead
	// program at once, otherwise after a minute or more. Empty means a fresh name.
	Session string

	// Timeout is how long a call waits for the cluster before it returns Unavailable. 0 means 30
	// seconds.
	Timeout time.Duration

	// Logger receives messages for operators: lost and new mounts. nil means no log.
	Logger *slog.Logger
}

const (
	openOp         = "cephfs.Open"
	defaultTimeout = 30 * time.Second
)

// checked returns o with defaults filled in, or the error in it.
func (o Options) checked() (Options, error) {
	if len(o.Monitors) == 0 && o.Config == "" {
		return o, pfs.Errorf(openOp, "", pfs.Invalid, "neither monitors nor a ceph.conf is given")
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

// Store is an open CephFS. It makes its calls as root of the store and knows owners by their
// numbers.
type Store interface {
	pfs.FileSystem
	pfs.OwnershipGiver
	pfs.Impersonator

	// Close closes the store. Files that are open then return Closed.
	Close() error
}

// Open connects to the store and returns it. It returns Invalid or Permission if the options or the
// rights of the service are wrong, and Unavailable within Timeout if the store does not answer.
// Later calls return Unavailable whenever the store cannot be reached, whatever the reason.
func Open(ctx context.Context, opts Options) (Store, error) {
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	return open(ctx, opts)
}
