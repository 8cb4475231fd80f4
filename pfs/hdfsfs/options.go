package hdfsfs

import (
	"log/slog"
	"path"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/datanode"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
)

// Options select a cluster and configure its use.
type Options struct {
	// NameNodes are the addresses (host:port) of all NameNodes of one name service.
	NameNodes []string

	// Root is the existing directory that is the root of the file system.
	Root string

	// User is the HDFS user to act as. With Kerberos it is the principal's.
	User string

	// Kerberos is nil if the cluster trusts user names.
	Kerberos *Kerberos

	// BlockSize is the block size of new files in bytes, and Replication their number of block
	// replicas; 0 means the cluster's default. PartSize is the length of a part, which is written,
	// verified and stored as a whole. It is a multiple of BlockSize, which must then be set; 0 means one block.
	BlockSize, PartSize int64
	Replication         int

	// Timeout ends a call to a NameNode that does not answer, and a read from a
	// DataNode that makes no progress; 0 means 15 s.
	Timeout time.Duration

	// DatanodeHostname selects the names of DataNodes instead of their addresses
	// for connections.
	DatanodeHostname bool

	// NoHedge disables the repetition of slow reads on another replica.
	NoHedge bool

	// Logger receives messages for administrators, such as damaged replicas and unavailable
	// services. If it is nil, nothing is logged.
	Logger *slog.Logger
}

// Kerberos configures how the service authenticates to the cluster.
type Kerberos struct {
	Principal string // with or without @REALM
	Keytab    string // file
	Config    string // krb5.conf

	// TokenFile is a file with a delegation token of the cluster. It replaces principal and keytab. It is read again for each
	// connection to a NameNode, because another program renews and replaces the token.
	TokenFile string

	// Service is the NameNodes' principal without the realm; _HOST stands for the host name of each NameNode.
	Service string

	// Protection is dfs.data.transfer.protection: "authentication", "integrity", "privacy", or "" for none.
	Protection string
}

const (
	defaultTimeout = 15 * time.Second

	// checksumChunk is the number of bytes of each checksum.
	checksumChunk = datanode.Chunk
)

// checked returns o with its defaults, or an error about a wrong option.
func (o Options) checked() (Options, error) {
	const op = "hdfsfs.New"
	switch {
	case len(o.NameNodes) == 0:
		return o, pfs.Errorf(op, "", pfs.Invalid, "no NameNode is given")
	case o.User == "" && o.Kerberos == nil:
		return o, pfs.Errorf(op, "", pfs.Invalid, "no HDFS user is given")
	case o.Kerberos == nil && !validUser(o.User):
		return o, wrongUser(op, o.User)
	case !path.IsAbs(o.Root) || path.Clean(o.Root) != o.Root:
		return o, pfs.Errorf(op, "", pfs.Invalid, "root %q: it must be an absolute path without \".\", \"..\" and a slash at the end", o.Root)
	case o.BlockSize < 0 || o.BlockSize%checksumChunk != 0:
		return o, pfs.Errorf(op, "", pfs.Invalid, "block size %d: it must be a multiple of %d", o.BlockSize, checksumChunk)
	case o.PartSize < 0 || o.PartSize > 0 && (o.BlockSize == 0 || o.PartSize%o.BlockSize != 0):
		return o, pfs.Errorf(op, "", pfs.Invalid, "part size %d: it must be a multiple of the block size", o.PartSize)
	case o.Replication < 0:
		return o, pfs.Errorf(op, "", pfs.Invalid, "replication %d: it must not be negative", o.Replication)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if k := o.Kerberos; k != nil && k.Protection != "" && protections[k.Protection] == 0 {
		return o, pfs.Errorf(op, "", pfs.Invalid, "dfs.data.transfer.protection is %q: it must be authentication, integrity or privacy", k.Protection)
	}
	return o, nil
}

// protections are the values of dfs.data.transfer.protection.
var protections = map[string]sasl.QOP{"authentication": sasl.Auth, "integrity": sasl.AuthInt, "privacy": sasl.AuthConf}

// protections returns the allowed protections of connections to DataNodes.
func (o Options) protections() []sasl.QOP {
	if o.Kerberos == nil || o.Kerberos.Protection == "" {
		return nil
	}
	return []sasl.QOP{protections[o.Kerberos.Protection]}
}
