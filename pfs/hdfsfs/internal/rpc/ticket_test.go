package rpc

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"google.golang.org/protobuf/proto"
)

// TestSilentKDC calls a NameNode while the KDC accepts connections and issues no tickets. The call ends with its context, and
// at its deadline with an error that names the KDC and not the NameNode.
func TestSilentKDC(t *testing.T) {
	kdc, err := net.Listen("tcp", "127.0.0.1:0") // nobody accepts
	if err != nil {
		t.Fatal(err)
	}
	defer kdc.Close()
	conf, err := config.NewFromString("[libdefaults]\n default_realm = PFS.TEST\n udp_preference_limit = 1\n[realms]\n PFS.TEST = {\n  kdc = " + kdc.Addr().String() + "\n }\n")
	if err != nil {
		t.Fatal(err)
	}
	node := fake(t, func(c *fakeConn) {
		c.open(&hdfsproto.Sasl{State: hdfsproto.Sasl_NEGOTIATE.Enum(), Auths: []*hdfsproto.Sasl_Auth{{Method: proto.String("KERBEROS"), Mechanism: proto.String("GSSAPI")}}})
	})
	c := clientWithin(t, 3*time.Second, node)
	c.opts.Service = "nn/_HOST"
	c.opts.Kerberos = func(context.Context) (*krb.Client, error) {
		return krb.NewWithPassword("alice", "PFS.TEST", "secret", conf, krb.DisablePAFXFAST(true)), nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := locate(ctx, c, "/f", Idempotent); !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was canceled: %v", err)
	}
	_, err = locate(t.Context(), c, "/f", Idempotent)
	var ticket *TicketError
	if !errors.As(err, &ticket) || !strings.Contains(err.Error(), "the KDC gave no answer") {
		t.Errorf("the error is %v", err)
	}
	if c.opts.Servers.FailedSince(node.address, time.Time{}) {
		t.Error("the NameNode is taken for one that failed")
	}
}

// TestClocksDiffer checks that the errors of a KDC about times say that the clocks differ.
func TestClocksDiffer(t *testing.T) {
	for code, want := range map[int32]bool{
		errorcode.KRB_AP_ERR_SKEW: true, errorcode.KRB_AP_ERR_TKT_NYV: true, errorcode.KRB_AP_ERR_TKT_EXPIRED: true,
		errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN: false,
	} {
		refusal := messages.NewKRBError(types.NewPrincipalName(2, "nn/localhost"), "PFS.TEST", code, "")
		err := &TicketError{For: "alice", Err: refusal}
		if got := strings.Contains(err.Error(), "clocks"); got != want {
			t.Errorf("code %d: %v", code, err)
		}
	}
}
