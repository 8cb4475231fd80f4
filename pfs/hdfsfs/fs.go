package hdfsfs

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
	"github.com/paddlecloud/pfs/pfs/internal/rules"
)

// FS is a tree of an HDFS as one user sees it. New returns the tree of the service; WithOwner and Impersonate return the trees of
// other users.
type FS struct {
	*cluster
	client *client
	acting
	stage stageRoot
	zones zones
}

var (
	_ rules.Store        = (*FS)(nil)
	_ pfs.Concatenator   = (*FS)(nil)
	_ pfs.BlockLocator   = (*FS)(nil)
	_ pfs.OwnershipGiver = (*FS)(nil)
	_ pfs.Impersonator   = (*FS)(nil)
)

// New connects to the cluster. It fails if no NameNode answers, the root does not exist, or reads
// could not be verified.
func New(ctx context.Context, opts Options) (*FS, error) {
	const op = "hdfsfs.New"
	opts, err := opts.checked()
	if err != nil {
		return nil, err
	}
	c := newCluster(opts)
	if err := c.login(ctx); err != nil {
		return nil, err
	}
	user, err := c.userName()
	if err != nil {
		return nil, err
	}
	c.service = c.newFS(acting{user: user}, c.newClient(user))
	if err := c.service.try(ctx, op); err != nil {
		c.service.Close()
		return nil, err
	}
	return c.service, nil
}

// userName returns the name of the service in HDFS.
func (c *cluster) userName() (string, error) {
	name := c.opts.User
	switch k := c.opts.Kerberos; {
	case k == nil:
	case k.TokenFile != "":
		t, err := k.token(c.opts.NameNodes)
		if err != nil {
			return "", err
		}
		id, err := hadooptoken.ParseIdentifier(t.Identifier)
		if err != nil {
			return "", pfs.Errorf("hdfsfs.New", "", pfs.Invalid, "%s: %w", k.TokenFile, err)
		}
		name = id.Owner
	default:
		name = c.kerberos().Credentials.UserName()
	}
	if i := strings.IndexAny(name, "/@"); i >= 0 && c.opts.Kerberos != nil {
		name = name[:i] // nn/host@REALM is nn to HDFS
	}
	return name, nil
}

func newCluster(opts Options) *cluster {
	dialer := &net.Dialer{Timeout: opts.Timeout / 2}
	c := &cluster{
		opts: opts, name: "pfs-" + pfs.NewID(), nameNodes: rpc.NewServers(opts.NameNodes),
	}
	c.nodes = datanode.NewClient(datanode.Options{
		Dial: func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		},
		Timeout:  opts.Timeout,
		Hedge:    !opts.NoHedge,
		Security: datanode.Security{Protections: opts.protections(), EncryptionKey: c.encryptionKey},
	})
	c.keys.Timeout = opts.Timeout
	if opts.Kerberos != nil {
		c.keys.Kerberos = func(principal string) (sasl.Mechanism, error) { return sasl.NewGSSAPI(c.kerberos(), principal) }
	}
	return c
}

func (c *cluster) newFS(w acting, p *client) *FS {
	f := &FS{cluster: c, client: p, acting: w}
	f.stage = stageRoot{fs: f, in: f.at(pfs.Root)}
	return f
}

// try checks that the cluster can be used.
func (f *FS) try(ctx context.Context, op string) error {
	info, err := f.status(ctx, pfs.Root)
	switch {
	case is(err, pfs.NotExist):
		return pfs.Errorf(op, "", pfs.NotExist, "the root directory %s is not there: make it, or give another one", f.opts.Root)
	case errors.Is(err, rpc.ErrTooLong), errors.Is(err, io.ErrUnexpectedEOF):
		return pfs.Errorf(op, "", pfs.Unavailable, "%s answers as no NameNode does: give the port of its RPC, 8020 by default, not that of its web server",
			strings.Join(f.opts.NameNodes, ", "))
	case is(err, pfs.Permission):
		return pfs.Errorf(op, "", pfs.Permission, "the HDFS user %s may not reach the root directory %s: a superuser of HDFS gives it the right to enter those above (hdfs dfs -chmod a+x)",
			f.user, f.opts.Root)
	case err != nil:
		return fail(op, "", err)
	case !info.IsDir():
		return pfs.Errorf(op, "", pfs.NotDir, "the root %s is not a directory", f.opts.Root)
	}
	d, err := f.serverDefaults(ctx)
	if err != nil {
		return fail(op, "", err)
	}
	if d.GetEncryptDataTransfer() {
		f.encryption.on.Store(true)
	}
	return nil
}

// Close ends the use of the file system by all users. Open files stay usable while
// their connections last.
func (f *FS) Close() error {
	c := f.cluster
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.service.client.close()
	c.others.close()
	c.readers.close()
	c.nodes.Close()
	if k := c.kerberos(); k != nil {
		k.Destroy()
	}
	return nil
}

// maxPath and maxDepth are the limits of HDFS for a path, in bytes and levels. The error of
// HDFS for a longer path does not name the limit.
const (
	maxPath  = 8000
	maxDepth = 1000
)

// check begins every operation.
func (f *FS) check(ctx context.Context, op string, name pfs.Path) error {
	if err := pfs.CheckPath(op, name); err != nil {
		return err
	}
	if strings.Contains(string(name), ":") {
		return pfs.Errorf(op, name, pfs.Invalid, "HDFS allows no \":\" in a name: choose another one")
	}
	if at := f.at(name); len(at) > maxPath || strings.Count(at, "/") > maxDepth {
		return pfs.Errorf(op, name, pfs.Invalid, "HDFS allows paths of %d bytes and %d levels, the %s of the store included: choose a shorter one",
			maxPath, maxDepth, f.opts.Root)
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

// at returns the path of name in HDFS.
func (f *FS) at(name pfs.Path) string {
	if f.opts.Root == "/" {
		return string(name)
	}
	return f.opts.Root + strings.TrimSuffix(string(name), "/")
}
