// Package webhdfs is a gateway: it serves the tree of the service by the REST API of HDFS (WebHDFS), so that programs
// for Hadoop clusters use it unchanged. Requests, answers, statuses and names of exceptions are those of Hadoop 3.4.
//
// A path below /pfs is that path of the tree. Any other path is below Config.Root, for programs that know nothing
// of /pfs.
//
// # Redirects
//
// CREATE and APPEND have two steps, as with a NameNode and a DataNode. The first step carries no data and is answered
// with the address for the second. This address is at the gateway itself, under the name that the client used. In place
// of credentials it carries a signature for this user, operation, path and parameters. It ends with the token and the
// session of the first step, and after an hour. Any replica accepts it. An address for CREATE is also bound to the
// version of the existing file, so it creates the file once.
//
// # Modes
//
// SETPERMISSION succeeds, but it never gives group and others a right that they did not have, because programs set
// 777 without need. The tree decides access, not modes.
//
// # Files
//
//	server, authenticate, path       requests, their users, and their paths
//	params, json, remoteexception    parameters, answers and refusals, as Hadoop spells them
//	read, write, redirect            OPEN; CREATE and APPEND; the signed addresses of their second steps
//	attributes, listing, names       describing, listing, making, renaming and removing
//	checksum, blocks, xattr          checksums of HDFS, locations of blocks, extended attributes
//	tokens                           delegation tokens
package webhdfs

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// Authenticator authenticates users; auth.Service is one.
type Authenticator interface {
	gateway.Authenticator
	// Account returns the account of that name, and ByHDFSUser the only one with that user on HDFS.
	Account(name string) (auth.Grant, error)
	ByHDFSUser(user string) (auth.Grant, error)
	// Sign signs a message for an account.
	Sign(purpose string, g auth.Grant, message []byte) []byte
	// Delegate makes a token that stands for the account until it expires or is canceled by Logout.
	Delegate(ctx context.Context, g auth.Grant) (auth.Tokens, error)
	AuthenticateDelegated(ctx context.Context, token string) (auth.Grant, error)
	Logout(ctx context.Context, token string) (user string, err error)
	// CheckSession returns an error if the session of g has ended.
	CheckSession(g auth.Grant) error
}

// Config is the configuration of a Server. Fields without a stated default are required.
type Config struct {
	Auth Authenticator
	Open gateway.Open

	// Home returns the home of a user.
	Home func(user string) pfs.Path

	// Root is the directory to which a path outside of /pfs is relative; "{user}" in it stands for the name of
	// the account. Default: no such path exists.
	Root string

	// TrustUserName accepts the parameter user.name without a password, except if it names an administrator.
	TrustUserName bool

	// Refused is called for refused passwords and names. Default: nothing.
	Refused func(ctx context.Context, user, remote string, err error)

	Logger *slog.Logger // default: discard
}

// Server is an http.Handler.
type Server struct {
	cfg     Config
	now     func() time.Time
	cursors *cursors
}

// New returns a Server. It answers Invalid if Root cannot be a path.
func New(cfg Config) (*Server, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Refused == nil {
		cfg.Refused = func(context.Context, string, string, error) {}
	}
	if cfg.Root != "" {
		if err := CheckRoot(cfg.Root); err != nil {
			return nil, err
		}
	}
	return &Server{cfg: cfg, now: time.Now, cursors: newCursors()}, nil
}

// CheckRoot answers Invalid if root cannot be Config.Root.
func CheckRoot(root string) error {
	name, err := pfs.ParsePath(strings.ReplaceAll(root, userPlace, "user"))
	if err == nil && !name.Within(top) {
		err = pfs.Errorf("webhdfs.CheckRoot", "", pfs.Invalid, "%q is not below %s", root, top)
	}
	return err
}

// prefix begins the URL path of every request.
const prefix = "/webhdfs/v1"

// call is a request in progress.
type call struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	op      operation
	params  params
	signed  bool // it is the second step of an operation
	user    auth.Grant
	session gateway.Session
	asked   string   // the path as the client names it
	path    pfs.Path // in the tree
}

// operation is one value of the parameter op.
type operation struct {
	name string
	// do carries out the operation, in one slot of the user.
	do func(ctx context.Context, c *call) (answer, error)
	// changes says that do changes something, and leaves a line in the audit log.
	changes bool
	// stream is used in place of do if the operation waits for the client, or lasts.
	stream func(c *call) (answer, error)
	// anywhere says that the path does not matter.
	anywhere bool
}

// operations are the operations by method.
var operations = map[string][]operation{
	http.MethodGet: {
		{name: "OPEN", stream: open},
		{name: "GETFILESTATUS", do: getFileStatus},
		{name: "LISTSTATUS", stream: listStatus},
		{name: "LISTSTATUS_BATCH", do: listStatusBatch},
		{name: "GETCONTENTSUMMARY", do: getContentSummary},
		{name: "GETQUOTAUSAGE", do: getQuotaUsage},
		{name: "GETFILECHECKSUM", stream: getFileChecksum},
		{name: "GETHOMEDIRECTORY", do: getHomeDirectory, anywhere: true},
		{name: "GETTRASHROOT", do: getTrashRoot, anywhere: true},
		{name: "GETSERVERDEFAULTS", do: getServerDefaults, anywhere: true},
		{name: "GET_BLOCK_LOCATIONS", do: getBlockLocations},
		{name: "GETFILEBLOCKLOCATIONS", do: getFileBlockLocations},
		{name: "CHECKACCESS", do: checkAccess},
		{name: "GETXATTRS", do: getXattrs},
		{name: "LISTXATTRS", do: listXattrs},
		{name: "GETDELEGATIONTOKEN", do: getDelegationToken, anywhere: true},
	},
	http.MethodPut: {
		{name: "CREATE", stream: create},
		{name: "MKDIRS", do: mkdirs, changes: true},
		{name: "RENAME", do: rename, changes: true},
		{name: "SETPERMISSION", do: setPermission, changes: true},
		{name: "SETOWNER", do: setOwner, changes: true},
		{name: "SETTIMES", do: setTimes, changes: true},
		{name: "SETREPLICATION", do: setReplication, changes: true},
		{name: "SETXATTR", do: setXattr, changes: true},
		{name: "REMOVEXATTR", do: removeXattr, changes: true},
		{name: "RENEWDELEGATIONTOKEN", do: renewDelegationToken, anywhere: true},
		{name: "CANCELDELEGATIONTOKEN", do: cancelDelegationToken, anywhere: true, changes: true},
	},
	http.MethodPost: {
		{name: "APPEND", stream: appendTo},
		{name: "CONCAT", do: concat, changes: true},
		{name: "TRUNCATE", do: truncate, changes: true},
	},
	http.MethodDelete: {
		{name: "DELETE", do: remove, changes: true},
	},
}

// answer is what a request is answered with.
type answer struct {
	status   int // 0 means 200
	body     any // encoded as JSON; nil is no body
	location string
	sent     bool // the answer has been sent
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	c := &call{Server: s, w: w, r: pace.Begin(w, r)}
	var begun bool
	c.w = &watched{ResponseWriter: w, begun: &begun}
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if p != http.ErrAbortHandler {
			s.cfg.Logger.Error("panic", "request", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		}
		if p != http.ErrAbortHandler && !begun {
			c.refuse(pfs.Errorf("webhdfs.ServeHTTP", "", pfs.Other, "the service failed on this request; its log says how"))
			return
		}
		panic(http.ErrAbortHandler) // net/http cuts the connection, so that the answer does not look whole
	}()
	a, err := c.serve()
	switch {
	case err == nil && !a.sent:
		c.answer(a)
	case err != nil && begun:
		s.cfg.Logger.Error("answer cut off", "request", r.URL.Path, "error", pfs.Detail(err))
		panic(http.ErrAbortHandler)
	case err != nil:
		c.refuse(err)
	}
}

// watched notes that an answer has begun.
type watched struct {
	http.ResponseWriter
	begun *bool
}

func (w *watched) WriteHeader(status int) {
	*w.begun = *w.begun || status >= http.StatusOK
	w.ResponseWriter.WriteHeader(status)
}

func (w *watched) Write(p []byte) (int, error) {
	*w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap is for http.ResponseController.
func (w *watched) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// crossOrigin refuses changes that a page of another site makes a browser ask for.
var crossOrigin http.CrossOriginProtection

// serve carries out the request.
func (c *call) serve() (answer, error) {
	rest, ok := strings.CutPrefix(c.r.URL.Path, prefix)
	if !ok || rest != "" && rest[0] != '/' {
		return answer{}, exception{notFound, "the address of a file is " + prefix + "/PATH", http.StatusNotFound}
	}
	if err := crossOrigin.Check(c.r); err != nil {
		return answer{}, exception{accessControl, "the request comes from a page of another site", http.StatusForbidden}
	}
	var err error
	if c.params, err = parseParams(c.r.URL.RawQuery); err != nil {
		return answer{}, err
	}
	if c.op, err = findOperation(c.r.Method, c.params.text("op")); err != nil {
		return answer{}, err
	}
	if err := c.authenticate(); err != nil {
		return answer{}, err
	}
	c.asked = rest
	if rest == "" {
		c.asked = "/"
	}
	if c.path, err = c.resolve(c.asked); err != nil && !c.op.anywhere {
		return answer{}, err
	}
	if c.session, err = c.cfg.Open(c.r.Context(), c.user, c.r.RemoteAddr); err != nil {
		return answer{}, err
	}
	defer c.session.Close()
	return c.carryOut()
}

func (c *call) carryOut() (a answer, err error) {
	if c.op.stream != nil {
		return c.op.stream(c)
	}
	method := strings.ToLower(c.op.name)
	do := func(ctx context.Context) (err error) {
		a, err = c.op.do(ctx, c)
		return err
	}
	if c.op.changes {
		return a, c.session.Change(c.r.Context(), method, do, c.auditFields()...)
	}
	return a, c.session.Do(c.r.Context(), method, do)
}

// audited are the parameters that an audit line states.
var audited = []string{"destination", "permission", "owner", "group", "replication", "sources", "newlength", "xattr.name", "recursive", "overwrite"}

func (c *call) auditFields() []any {
	fields := []any{"path", c.path}
	for _, name := range audited {
		if v := c.params.text(name); v != "" {
			fields = append(fields, name, v)
		}
	}
	return fields
}

// fs returns the tree of the user.
func (c *call) fs() pfs.FileSystem { return c.session.FS() }

// findOperation returns the operation op of an HTTP method.
func findOperation(method, op string) (operation, error) {
	list, ok := operations[method]
	if !ok {
		return operation{}, exception{illegalArgument, "WebHDFS has no method " + method, http.StatusMethodNotAllowed}
	}
	for _, o := range list {
		if strings.EqualFold(o.name, op) {
			return o, nil
		}
	}
	if op == "" {
		return operation{}, exception{unsupported, "the parameter op is missing", http.StatusBadRequest}
	}
	kind := method[:1] + strings.ToLower(method[1:])
	if inHadoop(method, op) {
		return operation{}, exception{unsupported, strings.ToUpper(op) + " is not supported", http.StatusBadRequest}
	}
	return operation{}, badParam("op", "No enum constant org.apache.hadoop.hdfs.web.resources."+kind+"OpParam.Op."+strings.ToUpper(op))
}

// unserved are the operations of Hadoop 3.4 that the tree has nothing for: access control lists, snapshots, storage
// policies, erasure coding.
var unserved = map[string]string{
	http.MethodGet: "GETACLSTATUS GETALLSTORAGEPOLICY GETSTORAGEPOLICY GETSNAPSHOTDIFF GETSNAPSHOTDIFFLISTING GETSNAPSHOTTABLEDIRECTORYLIST GETSNAPSHOTLIST " +
		"GETLINKTARGET GETFILELINKSTATUS GETSTATUS GETECPOLICIES GETECCODECS GETECPOLICY GETTRASHROOTS NULL",
	http.MethodPut: "CREATESYMLINK MODIFYACLENTRIES REMOVEACLENTRIES REMOVEDEFAULTACL REMOVEACL SETACL CREATESNAPSHOT RENAMESNAPSHOT ALLOWSNAPSHOT DISALLOWSNAPSHOT " +
		"SETSTORAGEPOLICY SATISFYSTORAGEPOLICY ENABLEECPOLICY DISABLEECPOLICY SETECPOLICY SETQUOTA SETQUOTABYSTORAGETYPE NULL",
	http.MethodPost:   "UNSETSTORAGEPOLICY UNSETECPOLICY NULL",
	http.MethodDelete: "DELETESNAPSHOT NULL",
}

// inHadoop reports whether a NameNode would know the operation.
func inHadoop(method, op string) bool {
	for name := range strings.FieldsSeq(unserved[method]) {
		if strings.EqualFold(name, op) {
			return true
		}
	}
	return false
}

// isKind reports whether err is of the kind.
func isKind(err error, kind pfs.Kind) bool { return err != nil && errors.Is(err, kind) }
