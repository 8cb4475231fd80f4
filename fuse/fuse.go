package fuse

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// DefaultTimeout is the default of Options.Timeout.
const DefaultTimeout = time.Second

// The modes of a mount: how files that are open for reading are read.
const (
	// PageCache reads through the kernel's page cache.
	PageCache = "page-cache"

	// Passthrough lets the kernel itself read files that are whole on this machine (LocalFile). Other
	// files are read as with PageCache. It needs Linux 6.9 and root, and files that this mount cannot
	// change: readers of the local file would not see a change. With Options.StoreFiles the kernel also
	// writes files itself.
	Passthrough = "passthrough"

	// NoOpen omits the request that opens a file, for read-only trees of small files. A
	// file that changes while it is read may then show both versions.
	NoOpen = "no-open"
)

// Protection tells who may change the files of a directory.
type Protection uint8

const (
	Unprotected Protection = iota // this account, through the mount
	Foreign                       // only others, and not through this mount
	Immutable                     // nobody: the directory and everything below it never change
)

// Broker is the process that keeps a mount for its servers (package broker).
type Broker interface {
	// Connect returns the mount at dir: a new one, or that of a server that has ended.
	Connect(dir string, opts Options) (*Connection, error)

	// Replacements is how many servers were started for the mount before this one.
	Replacements() int

	// Session names this server and the servers that replace it after its death, but not a server that replaces
	// it while it works. So a store that keeps sessions can end the session of a dead server at once. The part
	// before "-" is the same for all servers of the mount.
	Session() string

	// Register makes f a backing file that the kernel may read, and returns its number. Unregister ends that.
	Register(f *os.File) (int32, error)
	Unregister(id int32) error

	// Keep keeps f open for a server that replaces this one, until Drop. In that server Kept returns f, or nil.
	Keep(key string, f *os.File) error
	Kept(key string) (*os.File, error)
	Drop(key string) error

	// Unmount ends the mount.
	Unmount() error

	// Serving reports that the server answers requests from now on. The broker calls healthy periodically,
	// which returns if the server works, and calls drain when another server takes over.
	Serving(healthy, drain func()) error

	// PID is the process ID of the broker, 0 if it has ended.
	PID() int

	// Refused describes the upgrades that have failed while this server served.
	Refused() Refused
}

// Refused describes the upgrades of a server that have failed: another server could not take over.
type Refused struct {
	Upgrades int    `json:"upgrades"`
	Reason   string `json:"reason"` // of the last one
}

// Options are the options of Mount.
type Options struct {
	// Root is the directory of the file system that the mount shows; empty means pfs.Root.
	Root pfs.Path

	// ReadOnly refuses changes with EROFS. Files are then read as pfs.File, whose bytes are of one
	// version.
	ReadOnly bool

	// Protection, if not nil, returns the protection of a directory of the file system. An Immutable one
	// protects all directories below it. In a mount that is ReadOnly, directories are Foreign at least.
	Protection func(ctx context.Context, dir pfs.Path) (Protection, error)

	// Timeout is how long the kernel caches names and attributes, including missing names. 0 means
	// DefaultTimeout. Below an Immutable directory the kernel caches both without a limit.
	Timeout time.Duration

	// Squash shows all files as owned by the user who mounts, and admits only this user. It is for
	// services, which check the permissions of their own users. Without Squash, files have the owners of the
	// store, and the kernel checks permissions. If root then mounts, other users may use the mount, and new
	// files belong to their creators.
	Squash bool

	// Owner, if not nil, is the owner that Squash shows in place of the user who mounts, for the mount of a
	// container. Other users may then use the mount as the modes of the files permit. Only root can set it.
	Owner *Owner

	// OpenMode is the requested mode; empty means PageCache. Status has the mode in use.
	OpenMode string

	// StoreFiles lets the kernel itself read and write the files of the store (StoreFile), in the mode
	// Passthrough. Programs of the mount then see the same pages as all other programs of this machine. No
	// decorator between the store and the mount may cache files.
	StoreFiles bool

	// WriteBehind, if not empty, is a directory for bytes that programs write to files from start to end, until
	// the store has them: at most 64 MiB of each file. Such writes do not wait for the store. fsync, close and
	// every other request that depends on the bytes wait, and report errors. With a Broker the bytes survive the
	// end of this process.
	WriteBehind string

	// BehindAfter is the number of bytes that are written to a file in order before it is written behind; 0 means 1 MiB.
	BehindAfter int64

	// Cache, if not nil, returns the Cache of the mount's Status.
	Cache func() any

	// Warm, if not nil, fetches part of the file name, whose attributes are info, into a cache, and returns what
	// the function Warm stores for its caller.
	Warm func(ctx context.Context, name pfs.Path, info pfs.Info) (any, error)

	// Pending, if not nil, returns the Pending of the mount's Status: data that is not on the store yet.
	Pending func() any

	// Control, if not nil, carries out a command of the function Control.
	Control func(ctx context.Context, command string) error

	// Observe, if not nil, is called after each request of the kernel. It is not called for operations of the kernel
	// without a request, such as reads from its page cache.
	Observe func(Request)

	// Source is shown as the device of the mount.
	Source string

	// Broker, if not nil, keeps the mount for this server.
	Broker Broker

	// Logger receives errors of the store; nil discards them.
	Logger *slog.Logger
}

// Request is a request of the kernel that was answered.
type Request struct {
	Op          string // such as "lookup"
	Took        time.Duration
	Bytes       int    // that were read or written
	Result      string // "ok", or the name of an errno
	Passthrough bool   // an open of a file that the kernel reads itself

	path func() pfs.Path
}

// Path returns the path, or one of the paths, of the requested file in the mount. It is for Options.Observe.
func (r Request) Path() pfs.Path { return r.path() }

// LocalFile is an open file whose whole content can be in a file of this machine.
type LocalFile interface {
	// Local returns this file, or nil if it does not have all of the content. The file stays open
	// until the LocalFile is closed.
	Local() *os.File
}

// StoreFile is an open file, or a handle, of a store whose files are files of this machine.
type StoreFile interface {
	// StoreFile returns the store's own file, which the kernel may then read and write without calls to the
	// store. It is nil if the store needs the calls. The file stays open until Close.
	StoreFile() *os.File
}

// adopter is a store of such files that can use a file that another process has opened. Adopt takes ownership of f.
type adopter interface {
	Adopt(f *os.File, name pfs.Path, flags pfs.OpenFlags) (pfs.Handle, error)
}

// Flusher is a pfs.Handle whose writes need another call to reach the store when a program closes the
// file. close(2) returns the error of Flush.
type Flusher interface {
	Flush(ctx context.Context) error
}

// Owner is a user and a group.
type Owner struct{ UID, GID uint32 }

// Status describes a mount.
type Status struct {
	MountPoint string `json:"mount_point"`
	Source     string `json:"source"`
	Root       string `json:"root,omitempty"`
	ReadOnly   bool   `json:"read_only"`
	OpenMode   string `json:"open_mode,omitempty"`
	ServerPID  int    `json:"server_pid,omitempty"`
	BrokerPID  int    `json:"broker_pid,omitempty"` // process that replaces the server if it dies

	Replacements int      `json:"replacements,omitempty"` // servers that were started before this one
	Refused      *Refused `json:"refused,omitempty"`      // failed upgrades of the server

	// State is "serving", "dead" if the process that served the mount has ended, "silent" if it
	// does not answer, and "private" if the mount belongs to another user.
	State string `json:"state"`

	Cache   any `json:"cache,omitempty"`   // as Options.Cache returned it
	Pending any `json:"pending,omitempty"` // as Options.Pending returned it

	// Behind is the number of bytes that are written behind and not on the store yet. Control waits for them.
	Behind int64 `json:"behind,omitempty"`
}

// shared reports whether users other than the one who mounts may use the mount. The kernel then checks the
// modes of files.
func (o Options) shared() bool { return !o.Squash || o.Owner != nil }
