package hdfsfs

import (
	"container/list"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/colinmarc/hdfs/v2"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
)

// FS is a tree of an HDFS as one user sees it. Use New, and As for other users.
type FS struct {
	*cluster
	pool  *pool
	user  string // whom files are to belong to
	owner string // to whom they are given after they were written; "" if they are already
	stage stageRoot
}

var (
	_ pfs.FileSystem       = (*FS)(nil)
	_ pfs.Chmoder          = (*FS)(nil)
	_ pfs.Chtimer          = (*FS)(nil)
	_ pfs.ExclusiveRenamer = (*FS)(nil)
	_ pfs.TreeRemover      = (*FS)(nil)
	_ pfs.SpaceReporter    = (*FS)(nil)
	_ pfs.UsageReporter    = (*FS)(nil)
	_ pfs.QuotaSetter      = (*FS)(nil)
	_ pfs.Digester         = (*FS)(nil)
	_ pfs.BatchWriter      = (*FS)(nil)
	_ pfs.Sweeper          = (*FS)(nil)
	_ BlockLocator         = (*FS)(nil)
)

// cluster is what all users share.
type cluster struct {
	opts     Options
	names    *names // by address
	webNames *names // by URL
	http     http.RoundTripper
	krb      *krb.Client // nil without Kerberos
	readers  readers
	service  *FS // as which New was called

	mu       sync.Mutex
	users    map[string]*list.Element // of recent, by name
	recent   *list.List               // of *FS, the one used last in front
	defaults *hdfs.ServerDefaults     // once they are known
	webOff   bool                     // WebHDFS was found to be off
	closed   bool
}

// mostUsers is the number of users whose FS is kept.
const mostUsers = 64

// New connects to the cluster. It fails if no NameNode answers, the root is not
// there, or what is read could not be verified.
func New(ctx context.Context, opts Options) (*FS, error) {
	const op = "hdfsfs.New"
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	c := &cluster{opts: opts, names: newNames(opts.NameNodes), webNames: newNames(opts.WebHDFS), users: map[string]*list.Element{}, recent: list.New()}
	c.http = newTransport(opts)
	if err := c.login(); err != nil {
		return nil, err
	}
	user := opts.User
	if c.krb != nil {
		// nn/host is nn to HDFS.
		user, _, _ = strings.Cut(c.krb.Credentials.UserName(), "/")
	}
	c.service = c.newFS(user)
	if err := c.service.try(ctx, op); err != nil {
		c.service.Close()
		return nil, err
	}
	return c.service, nil
}

func (c *cluster) newFS(user string) *FS {
	f := &FS{cluster: c, user: user, pool: &pool{cluster: c, user: user}}
	f.stage.fs = f
	return f
}

// try checks that the cluster can be used.
func (f *FS) try(ctx context.Context, op string) error {
	info, err := f.status(ctx, pfs.Root)
	switch {
	case is(err, pfs.NotExist):
		return pfs.Errorf(op, "", pfs.NotExist, "the root directory %s is not there: make it, or give another one", f.opts.Root)
	case err != nil:
		return fail(op, "", err)
	case !info.IsDir():
		return pfs.Errorf(op, "", pfs.NotDir, "the root %s is not a directory", f.opts.Root)
	}
	d, err := f.serverDefaults(ctx)
	if err != nil {
		return fail(op, "", err)
	}
	if d.EncryptDataTransfer {
		return pfs.Errorf(op, "", pfs.Unsupported, "the cluster encrypts its data transfer (dfs.encrypt.data.transfer): what is read could not be verified")
	}
	return f.tryWeb(ctx, op)
}

// tryWeb does without WebHDFS if no NameNode speaks it now, while their RPC does: its
// address may be a guess.
func (f *FS) tryWeb(ctx context.Context, op string) error {
	if !f.hasWeb() {
		return nil
	}
	err := f.web(ctx, webCall{method: http.MethodGet, op: "GETFILESTATUS", path: f.opts.Root, repeat: often}, nil)
	var remote remoteError
	switch {
	case err == nil || errors.As(err, &remote) || is(err, pfs.Unsupported):
		return nil
	case is(err, pfs.Canceled, pfs.Unauthenticated):
		return fail(op, "", err)
	}
	f.noteWebOff(err.Error())
	return nil
}

// As returns the same tree as user sees it. Where the cluster believes names, calls
// are made under that name; with Kerberos they are made as the service, which gives
// the user what it has written. The file systems of the users seen last are kept.
func (f *FS) As(user string) (*FS, error) {
	if !validUser(user) {
		return nil, pfs.Errorf("hdfsfs.As", "", pfs.Invalid, "%q cannot be the name of an HDFS user", user)
	}
	c := f.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if user == c.service.user {
		return c.service, nil
	}
	if e, ok := c.users[user]; ok {
		c.recent.MoveToFront(e)
		return e.Value.(*FS), nil
	}
	as := c.newFS(user)
	if c.krb != nil {
		as.pool, as.owner = c.service.pool, user
	}
	c.users[user] = c.recent.PushFront(as)
	if c.recent.Len() > mostUsers {
		// Whoever still has it goes on; its idle sessions end by themselves.
		oldest := c.recent.Remove(c.recent.Back()).(*FS)
		delete(c.users, oldest.user)
	}
	return as, nil
}

// validUser reports whether user can be the name of an HDFS user, which is one of a
// directory too.
func validUser(user string) bool {
	return pfs.CheckName(user) == "" && !strings.ContainsAny(user, "@:\n ")
}

// Close ends the use of the file system by all users. Files that are open go on for
// as long as their connections do.
func (f *FS) Close() error {
	c := f.cluster
	c.mu.Lock()
	all := []*FS{c.service}
	for e := c.recent.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*FS))
	}
	c.closed = true
	c.mu.Unlock()
	for _, f := range all {
		f.pool.close()
	}
	c.readers.close()
	if c.krb != nil {
		c.krb.Destroy()
	}
	return nil
}

// serverDefaults asks the NameNode once.
func (f *FS) serverDefaults(ctx context.Context) (hdfs.ServerDefaults, error) {
	f.mu.Lock()
	known := f.defaults
	f.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	var d hdfs.ServerDefaults
	err := f.call(ctx, often, func(c *hdfs.Client) (err error) {
		d, err = c.ServerDefaults()
		return err
	})
	if err == nil {
		f.mu.Lock()
		f.defaults = &d
		f.mu.Unlock()
	}
	return d, err
}

// check is how every operation begins.
func (f *FS) check(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if strings.Contains(string(name), ":") {
		return pfs.Errorf(op, name, pfs.Invalid, "HDFS allows no \":\" in a name: choose another one")
	}
	if err := pfs.CheckContext(ctx, op, name); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return pfs.E(op, name, pfs.Closed, nil)
	}
	return nil
}

// at returns where name is in HDFS.
func (f *FS) at(name pfs.Path) string {
	if f.opts.Root == "/" {
		return string(name)
	}
	return f.opts.Root + strings.TrimSuffix(string(name), "/")
}
