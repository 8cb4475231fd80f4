package hdfsfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/rpc"
)

// exceptions maps the classes of exceptions of NameNodes to Kinds. A hint
// replaces a message of the server that does not help.
var exceptions = map[string]struct {
	kind pfs.Kind
	hint string
}{
	"java.io.FileNotFoundException":                                                       {pfs.NotExist, ""},
	"org.apache.hadoop.fs.FileAlreadyExistsException":                                     {pfs.Exist, ""},
	"org.apache.hadoop.fs.ParentNotDirectoryException":                                    {pfs.NotDir, ""},
	"org.apache.hadoop.fs.PathIsNotDirectoryException":                                    {pfs.NotDir, ""},
	"org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":                               {pfs.NotEmpty, ""},
	"org.apache.hadoop.fs.UnresolvedLinkException":                                        {pfs.Symlink, ""},
	"org.apache.hadoop.hdfs.protocol.UnresolvedPathException":                             {pfs.Symlink, ""},
	"org.apache.hadoop.security.AccessControlException":                                   {pfs.Permission, ""},
	"org.apache.hadoop.security.authorize.AuthorizationException":                         {pfs.Permission, ""},
	"org.apache.hadoop.fs.InvalidPathException":                                           {pfs.Invalid, ""},
	"org.apache.hadoop.HadoopIllegalArgumentException":                                    {pfs.Invalid, ""},
	"java.lang.IllegalArgumentException":                                                  {pfs.Invalid, ""},
	"org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException":      {pfs.Invalid, "the name is longer than this HDFS allows (dfs.namenode.fs-limits.max-component-length)"},
	"org.apache.hadoop.hdfs.protocol.FSLimitException$MaxDirectoryItemsExceededException": {pfs.NoSpace, "the directory has as many entries as this HDFS allows (dfs.namenode.fs-limits.max-directory-items)"},
	nameQuotaException:  {pfs.Quota, ""},
	spaceQuotaException: {pfs.Quota, ""},
	"org.apache.hadoop.hdfs.protocol.QuotaByStorageTypeExceededException": {pfs.Quota, ""},
	"org.apache.hadoop.hdfs.protocol.QuotaExceededException":              {pfs.Quota, ""},
	"org.apache.hadoop.hdfs.server.namenode.SafeModeException":            {pfs.Unavailable, "the NameNode is in safe mode and takes no changes until it leaves it (hdfs dfsadmin -safemode get)"},
	"org.apache.hadoop.ipc.RetriableException":                            {pfs.Unavailable, "the NameNode is starting or in safe mode and asks to come again"},
	"org.apache.hadoop.ipc.StandbyException":                              {pfs.Unavailable, "the NameNode is a standby: none of the addresses is the active one now"},
	"org.apache.hadoop.ipc.ObserverRetryOnActiveException":                {pfs.Unavailable, "the NameNode is an observer"},
	"org.apache.hadoop.ipc.RpcNoSuchMethodException":                      {pfs.Unsupported, ""},
	"java.lang.UnsupportedOperationException":                             {pfs.Unsupported, ""},
	"org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException":        {pfs.Conflict, "somebody else removed or took over what was being written"},
	"org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException":        {pfs.Conflict, "another writer holds the lease of the file"},
	"org.apache.hadoop.hdfs.protocol.RecoveryInProgressException":         {pfs.Unavailable, "the file is being recovered from a writer that died"},
	notReplicatedYet:                    {pfs.Unavailable, "the NameNode knows no replica of an earlier block of the file yet"},
	"javax.security.sasl.SaslException": {pfs.Unavailable, "the NameNode rejects the delegation token: replace its file"},
	"org.apache.hadoop.security.token.SecretManager$InvalidToken": {pfs.Unavailable, "the delegation token has ended: replace its file"},
}

// The exceptions of a NameNode for a quota of names and for one of bytes.
const (
	nameQuotaException  = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"
	spaceQuotaException = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
)

// notReplicatedYet is the exception for a new block while the NameNode does not yet know a replica
// of the block before the last.
const notReplicatedYet = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"

// noAnswer is the error of a call that reached its deadline.
type noAnswer struct{ what string }

func (e *noAnswer) Error() string { return e.what }

// nameNodeSilent reports whether err means that a NameNode did not answer in time.
func nameNodeSilent(err error) bool {
	var late *rpc.NoAnswer
	return errors.As(err, &late)
}

// kindOf classifies an error of the cluster and of the network. A connection that could not be made in time is a
// context.DeadlineExceeded, too, but no caller gave up.
func kindOf(err error) pfs.Kind {
	var remote *rpc.RemoteError
	var network *net.OpError
	var known *pfs.Error
	var k pfs.Kind
	switch {
	case errors.As(err, &known):
		return known.Kind
	case errors.As(err, &k):
		return k
	case errors.Is(err, context.Canceled):
		return pfs.Canceled
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &network):
		return pfs.Canceled
	case errors.As(err, &remote):
		return remoteKind(remote)
	}
	return pfs.Unavailable // all other errors are failures of connections
}

// mendPipeline is the call of a writer that lost a DataNode of the current block.
const mendPipeline = "updateBlockForPipeline"

// remoteKind looks the class up.
func remoteKind(err *rpc.RemoteError) pfs.Kind {
	if e, ok := exceptions[err.Class]; ok {
		return e.kind
	}
	switch err.Method {
	case "addBlock":
		return pfs.Unavailable // no DataNode could be chosen
	case "append":
		if strings.HasPrefix(err.Text, "append: lastBlock=") {
			return pfs.Unavailable // no DataNode has told of that block yet
		}
	case mendPipeline:
		return pfs.Conflict // the block is not being written any more
	}
	return pfs.Other
}

// fail converts err to an error of package pfs about name. It returns nil for nil. It adds only a
// missing path to an error of package pfs.
func fail(op string, name pfs.Path, err error) error {
	if err == io.EOF {
		return err
	}
	if known, ok := pfs.Known(op, name, err); ok {
		return known
	}
	return pfs.E(op, name, kindOf(err), cause(err))
}

// cause returns err without paths of the cluster and stack traces.
func cause(err error) error {
	var remote *rpc.RemoteError
	if !errors.As(err, &remote) {
		return err
	}
	switch k := remoteKind(remote); k {
	case pfs.NotExist, pfs.Exist, pfs.NotDir, pfs.NotEmpty, pfs.Symlink:
		return k // the text has only the path
	case pfs.Permission:
		if says(err, "Permission denied: user=") {
			return k
		}
	}
	return errors.New(remoteText(remote))
}

// remoteText returns the message of an exception, in plainer words than Hadoop's if there are any.
func remoteText(err *rpc.RemoteError) string {
	if e := exceptions[err.Class]; e.hint != "" {
		return e.hint
	}
	if _, files, limit, would, ok := enforced(err); ok {
		what := "bytes in all replicas"
		if files { // the directory itself counts as one
			what, limit, would = "files and directories", limit-1, would-1
		}
		return fmt.Sprintf("the limit is %d %s, and with this they would be %d", limit, what, would)
	}
	switch err.Method {
	case "addBlock":
		return "no DataNode takes a block now: they are gone, full or busy"
	case "append":
		if remoteKind(err) == pfs.Unavailable {
			return "the NameNode knows no replica of the end of the file yet"
		}
	case mendPipeline:
		return "the file that was being written is gone: somebody removed it, or another writer took it over"
	}
	text, _, _ := strings.Cut(err.Text, "\n")
	return text
}

// is reports whether err is of one of the kinds.
func is(err error, kinds ...pfs.Kind) bool {
	return err != nil && slices.Contains(kinds, kindOf(err))
}

// placeError returns the error of an operation that did not find name, or could not create
// it. The NameNode does not say whether it is the parent that is missing or not a directory.
// nil stays nil.
func (f *FS) placeError(ctx context.Context, op string, name pfs.Path, err error) error {
	if is(err, pfs.Quota) {
		return fail(op, name, f.overQuota(ctx, err))
	}
	if !is(err, pfs.NotExist, pfs.NotDir, pfs.Exist, pfs.Permission, pfs.Other) || name == pfs.Root {
		return fail(op, name, err)
	}
	st, statErr := f.status(ctx, name.Parent())
	switch {
	case is(statErr, pfs.NotExist, pfs.NotDir):
		return f.placeError(ctx, op, name.Parent(), statErr)
	case statErr == nil && st.IsLink():
		return pfs.E(op, name.Parent(), pfs.Symlink, nil)
	case statErr == nil && !st.IsDir():
		return pfs.E(op, name.Parent(), pfs.NotDir, nil)
	}
	return fail(op, name, err)
}

// publishError returns the error of a failed rename to name. If the staged file is missing,
// the error stays plain: see round.
func (f *FS) publishError(ctx context.Context, op, whole string, name pfs.Path, err error) error {
	if is(err, pfs.Unavailable, pfs.Canceled, pfs.Quota) {
		return fail(op, name, f.overQuota(ctx, err))
	}
	if _, gone := f.statusAt(ctx, whole); is(gone, pfs.NotExist) {
		return gone
	}
	if st, statErr := f.status(ctx, name); statErr == nil && st.IsDir() && !is(err, pfs.Exist) {
		return pfs.E(op, name, pfs.IsDir, nil)
	}
	return f.placeError(ctx, op, name, err)
}
