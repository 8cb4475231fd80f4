package rpc

import (
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// RemoteError is an exception of a NameNode. The NameNode has not executed the call.
type RemoteError struct {
	Method string // the call
	Class  string // of the exception
	Text   string // which may be followed by a trace
}

func (e *RemoteError) Error() string {
	text, _, _ := strings.Cut(e.Text, "\n")
	return e.Class + ": " + text
}

// Exceptions of a NameNode that currently executes no calls.
const (
	standbyException   = "org.apache.hadoop.ipc.StandbyException"
	observerException  = "org.apache.hadoop.ipc.ObserverRetryOnActiveException"
	retriableException = "org.apache.hadoop.ipc.RetriableException"
)

// AsksToRepeat reports whether the call may succeed on another NameNode or a moment later.
func (e *RemoteError) AsksToRepeat() bool {
	switch e.Class {
	case standbyException, observerException, retriableException:
		return true
	}
	return false
}

// NoAnswer is the error of a call that a NameNode did not answer in time. The NameNode may have executed the call.
type NoAnswer struct {
	Server string
	Limit  time.Duration

	alive bool // it answered other calls in the meantime
}

func (e *NoAnswer) Error() string {
	return fmt.Sprintf("the NameNode %s gave no answer within %v", e.Server, e.Limit)
}

// connError is the error of a connection.
type connError struct {
	server string
	err    error
}

func (e *connError) Error() string {
	if _, ok := e.err.(*net.OpError); ok { // it has the address
		return "NameNode: " + e.err.Error()
	}
	return "NameNode " + e.server + ": " + e.err.Error()
}

func (e *connError) Unwrap() error { return e.err }

// noTicket returns the error of a NameNode that requires a ticket when there is none.
func noTicket() error {
	return pfs.Errorf("rpc.Call", "", pfs.Unauthenticated, "the NameNode accepts no calls without a ticket: a cluster with Kerberos needs a principal and a keytab")
}

// refused returns the error of a NameNode that rejects a ticket. Its answer does not name the cause.
func refused(principal string, err error) error {
	return pfs.Errorf("rpc.Call", "", pfs.Unavailable, "%w: it accepts the ticket of %s only if the clocks of the NameNode, the KDC and this machine "+
		"are less than five minutes apart, and its key is the one that the KDC has", err, principal)
}

// TicketError is the error of Kerberos when it issues no ticket.
type TicketError struct {
	For string // the principal that asks
	Err error
}

func (e *TicketError) Error() string {
	text := "Kerberos issues no ticket for " + e.For + ": " + e.Err.Error()
	// The library keeps only the text of the KDC's reason.
	for _, name := range []string{"KRB_AP_ERR_TKT_EXPIRED", "KRB_AP_ERR_TKT_NYV", "KRB_AP_ERR_SKEW"} {
		if strings.Contains(text, name) {
			return text + ": the clocks of the KDC and of this machine must be less than five minutes apart"
		}
	}
	return text
}

func (e *TicketError) Unwrap() error { return e.Err }
