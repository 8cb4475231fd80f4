package webhdfs

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
)

// The Java classes of refusals.
const (
	ioException     = "java.io.IOException"
	notFound        = "java.io.FileNotFoundException"
	illegalArgument = "java.lang.IllegalArgumentException"
	unsupported     = "java.lang.UnsupportedOperationException"
	runtimeFailure  = "java.lang.RuntimeException"
	hadoopIllegal   = "org.apache.hadoop.HadoopIllegalArgumentException"
	accessControl   = "org.apache.hadoop.security.AccessControlException"
	unauthenticated = "org.apache.hadoop.security.authentication.client.AuthenticationException"
	invalidToken    = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	unauthorized    = "org.apache.hadoop.security.authorize.AuthorizationException"
	alreadyExists   = "org.apache.hadoop.fs.FileAlreadyExistsException"
	notDirectory    = "org.apache.hadoop.fs.ParentNotDirectoryException"
	notEmpty        = "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException"
	invalidPath     = "org.apache.hadoop.fs.InvalidPathException"
	badChecksum     = "org.apache.hadoop.fs.ChecksumException"
	spaceQuota      = "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException"
	countQuota      = "org.apache.hadoop.hdfs.protocol.NSQuotaExceededException"
	retriable       = "org.apache.hadoop.ipc.RetriableException"
	noSuchXattr     = "org.apache.hadoop.hdfs.protocol.XAttrNotFoundException"
	changed         = "java.util.ConcurrentModificationException"
)

// exception is a refusal as Hadoop words it.
type exception struct {
	class, message string
	status         int
}

func (e exception) Error() string { return e.message }

// illegal is a request that makes no sense.
func illegal(format string, args ...any) error {
	return exception{illegalArgument, fmt.Sprintf(format, args...), http.StatusBadRequest}
}

// forbidden is a request that cannot be carried out.
func forbidden(class, format string, args ...any) error {
	return exception{class, fmt.Sprintf(format, args...), http.StatusForbidden}
}

// missing is a file that does not exist.
func missing(format string, args ...any) error {
	return exception{notFound, fmt.Sprintf(format, args...), http.StatusNotFound}
}

// badParam is a parameter with a value that it cannot have.
func badParam(name, why string) error {
	return illegal("Invalid value for webhdfs parameter %q: %s", name, why)
}

// kinds gives every Kind its class and status.
var kinds = map[pfs.Kind]struct {
	class  string
	status int
}{
	pfs.Other:           {runtimeFailure, http.StatusInternalServerError},
	pfs.Invalid:         {illegalArgument, http.StatusBadRequest},
	pfs.NotExist:        {notFound, http.StatusNotFound},
	pfs.Exist:           {alreadyExists, http.StatusForbidden},
	pfs.Permission:      {accessControl, http.StatusForbidden},
	pfs.Unauthenticated: {unauthenticated, http.StatusUnauthorized},
	pfs.IsDir:           {notFound, http.StatusNotFound},
	pfs.NotDir:          {notDirectory, http.StatusForbidden},
	pfs.NotEmpty:        {notEmpty, http.StatusForbidden},
	pfs.Symlink:         {ioException, http.StatusForbidden},
	pfs.CrossStore:      {ioException, http.StatusForbidden},
	pfs.Unsupported:     {unsupported, http.StatusBadRequest},
	pfs.ReadOnly:        {accessControl, http.StatusForbidden},
	pfs.NoSpace:         {ioException, http.StatusForbidden},
	pfs.Quota:           {spaceQuota, http.StatusForbidden},
	pfs.Conflict:        {ioException, http.StatusForbidden},
	pfs.Unavailable:     {retriable, http.StatusServiceUnavailable},
	pfs.Limit:           {retriable, http.StatusTooManyRequests},
	pfs.Integrity:       {badChecksum, http.StatusForbidden},
	pfs.Canceled:        {ioException, http.StatusForbidden},
	pfs.Closed:          {ioException, http.StatusForbidden},
	pfs.Stale:           {ioException, http.StatusForbidden},
	pfs.NoAttr:          {ioException, http.StatusForbidden},
}

// asException words err for the client.
func (c *call) asException(err error) exception {
	if as := (exception{}); errors.As(err, &as) {
		return as
	}
	kind := pfs.KindOf(err)
	e := exception{kinds[kind].class, err.Error(), kinds[kind].status}
	switch kind {
	case pfs.NotExist:
		e.message = "File does not exist: " + c.asked
	case pfs.IsDir:
		e.message = "Path is not a file: " + c.asked
	case pfs.Quota:
		if over := new(pfs.OverQuota); errors.As(err, &over) && over.Files {
			e.class = countQuota
		}
	case pfs.Other:
		e.message = "the service failed on this request; its log says how"
	}
	return e
}

// refuse answers err.
func (c *call) refuse(err error) {
	e := c.asException(err)
	c.cfg.Logger.Debug("request failed", "request", c.r.Method+" "+c.r.URL.Path, "op", c.op.name, "remote", c.r.RemoteAddr, "error", pfs.Detail(err))
	h := c.w.Header()
	if e.status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Basic realm="pfs", charset="UTF-8"`)
	}
	if e.class == retriable {
		h.Set("Retry-After", strconv.Itoa(auth.SecondsToWait(err)))
	}
	if c.r.ContentLength != 0 {
		pace.Linger(c.w)
		h.Set("Connection", "close")
	}
	c.answer(answer{status: e.status, body: struct{ RemoteException any }{remoteException{
		Exception: e.class[strings.LastIndexAny(e.class, ".$")+1:], JavaClassName: e.class, Message: e.message,
	}}})
}

type remoteException struct {
	Exception     string `json:"exception"`
	JavaClassName string `json:"javaClassName"`
	Message       string `json:"message"`
}
