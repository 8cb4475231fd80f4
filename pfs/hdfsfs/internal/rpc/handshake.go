package rpc

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/hdfsproto"
	"github.com/paddlecloud/pfs/pfs/hdfsfs/internal/sasl"
	"google.golang.org/protobuf/proto"
)

// preamble begins a connection: version 9, no service class, and authentication by SASL. NameNodes that
// trust user names answer its first message by saying so.
const preamble = "hrpc\x09\x00\xdf"

// protocol is the protocol of the calls.
const protocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"

// maxSteps bounds the messages of a handshake.
const maxSteps = 10

// handshake authenticates a new connection with Kerberos, or with a token, or, if both are nil, with the user's name.
func (c *Client) handshake(ctx context.Context, conn net.Conn, server string, tickets *krb.Client, token *hdfsproto.Token) (*stream, error) {
	s := &stream{Conn: conn, in: bufio.NewReaderSize(conn, 32<<10), client: c.id[:]}
	first, err := appendSASL([]byte(preamble), c.id[:], &hdfsproto.Sasl{State: hdfsproto.Sasl_NEGOTIATE.Enum()})
	if err != nil {
		return nil, err
	}
	offer, err := s.ask(first)
	var remote *RemoteError
	switch {
	case errors.As(err, &remote) && strings.Contains(remote.Text, "SIMPLE authentication is not enabled"):
		return nil, noTicket()
	case err != nil:
		return nil, err
	}
	switch {
	case token != nil:
		err = s.prove(offer, byDigest, func(auth *hdfsproto.Sasl_Auth) (sasl.Mechanism, error) { return byToken(token, auth), nil })
	case tickets != nil:
		err = s.prove(offer, byKerberos, func(*hdfsproto.Sasl_Auth) (sasl.Mechanism, error) { return c.mechanism(ctx, server, tickets) })
	default:
		err = s.acceptUser(offer)
	}
	if err != nil {
		return nil, err
	}
	user := &hdfsproto.ConnectionContext{Protocol: proto.String(protocol)}
	if c.opts.User != "" {
		user.User = &hdfsproto.UserInformation{EffectiveUser: proto.String(c.opts.User)}
	}
	frame, err := appendFrame(nil, nil, requestHeader(c.id[:], contextID, -1), user)
	if err != nil {
		return nil, err
	}
	_, err = s.Write(frame)
	return s, err
}

// ask sends a message and returns the answer.
func (s *stream) ask(message []byte) (*hdfsproto.Sasl, error) {
	if _, err := s.Conn.Write(message); err != nil {
		return nil, err
	}
	frame, err := readFrame(s.in)
	if err != nil {
		return nil, broken(err)
	}
	return parseSASL(frame)
}

// acceptUser ends the handshake with a NameNode that trusts user names.
func (s *stream) acceptUser(offer *hdfsproto.Sasl) error {
	if offer.GetState() == hdfsproto.Sasl_SUCCESS {
		return nil
	}
	for _, auth := range offer.GetAuths() {
		if auth.GetMethod() != "SIMPLE" {
			continue
		}
		message, err := appendSASL(nil, s.client, &hdfsproto.Sasl{State: hdfsproto.Sasl_INITIATE.Enum(), Auths: []*hdfsproto.Sasl_Auth{auth}})
		if err == nil {
			_, err = s.Conn.Write(message) // it is not answered
		}
		return err
	}
	return noTicket()
}

// method is a way of authentication.
type method struct{ what, name, mechanism string }

var (
	byKerberos = method{"Kerberos", "KERBEROS", "GSSAPI"}
	byDigest   = method{"tokens", "TOKEN", "DIGEST-MD5"}
)

// byToken returns the mechanism of a handshake with a token.
func byToken(t *hdfsproto.Token, auth *hdfsproto.Sasl_Auth) sasl.Mechanism {
	text := base64.StdEncoding.EncodeToString
	return sasl.NewDigestMD5(text(t.GetIdentifier()), []byte(text(t.GetPassword())), auth.GetProtocol(), auth.GetServerId(), protections)
}

// protections are those of calls, the strongest first.
var protections = []sasl.QOP{sasl.AuthConf, sasl.AuthInt, sasl.Auth}

// prove authenticates the client and the NameNode to each other.
func (s *stream) prove(offer *hdfsproto.Sasl, by method, begin func(*hdfsproto.Sasl_Auth) (sasl.Mechanism, error)) error {
	var chosen *hdfsproto.Sasl_Auth
	for _, auth := range offer.GetAuths() {
		if auth.GetMethod() == by.name && auth.GetMechanism() == by.mechanism {
			chosen = auth
		}
	}
	if chosen == nil {
		return fmt.Errorf("it does not offer %s, and a NameNode that cannot prove itself is not trusted", by.what)
	}
	m, err := begin(chosen)
	if err != nil {
		return err
	}
	token, err := m.Start(chosen.GetChallenge())
	if err != nil {
		return err
	}
	chosen.Challenge = nil
	out := &hdfsproto.Sasl{State: hdfsproto.Sasl_INITIATE.Enum(), Token: token, Auths: []*hdfsproto.Sasl_Auth{chosen}}
	for range maxSteps {
		message, err := appendSASL(nil, s.client, out)
		if err != nil {
			return err
		}
		in, err := s.ask(message)
		if err != nil {
			return err
		}
		switch in.GetState() {
		case hdfsproto.Sasl_CHALLENGE:
			if token, err = m.Next(in.GetToken()); err != nil {
				return err
			}
			out = &hdfsproto.Sasl{State: hdfsproto.Sasl_RESPONSE.Enum(), Token: token}
		case hdfsproto.Sasl_SUCCESS:
			if !m.Done() && len(in.GetToken()) > 0 {
				if _, err := m.Next(in.GetToken()); err != nil {
					return err
				}
			}
			if !m.Done() {
				return errors.New("it ended the handshake before it proved itself")
			}
			s.layer, err = m.Layer()
			return err
		default:
			return fmt.Errorf("the state %v came in the middle of the handshake", in.GetState())
		}
	}
	return fmt.Errorf("the handshake has more than %d messages", maxSteps)
}

// mechanism returns the mechanism of a handshake with Kerberos. It uses the strongest protection that the NameNode
// allows. The library takes no context: while a KDC is silent, its call continues after mechanism has returned.
func (c *Client) mechanism(ctx context.Context, server string, tickets *krb.Client) (sasl.Mechanism, error) {
	host, _, err := net.SplitHostPort(server)
	if err != nil {
		return nil, err
	}
	service, principal := strings.Replace(c.opts.Service, "_HOST", strings.ToLower(host), 1), tickets.Credentials.CName().PrincipalNameString()
	var m sasl.Mechanism
	done := make(chan error, 1)
	go func() {
		done <- pfs.Guard("rpc.Call", "", func() (err error) {
			m, err = sasl.NewGSSAPI(tickets, service, protections...)
			return err
		})
	}()
	limit := c.opts.Timeout / 2 // callers wait for the whole of it
	select {
	case err = <-done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-time.After(limit):
		err = fmt.Errorf("the KDC gave no answer within %v", limit)
	}
	if err != nil {
		return nil, &TicketError{For: principal + " to " + service, Err: err}
	}
	return m, nil
}
