package sasl

import (
	"bytes"
	"encoding/asn1"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/asnAppTag"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// acceptor is the server of a test. It has the key of the ticket.
type acceptor struct {
	t      *testing.T
	key    types.EncryptionKey // of the ticket, and then of messages
	subkey types.EncryptionKey // none if it has no key
	seals  bool
	rotate int

	send, receive uint64
}

// fakeReply and fakePart are messages.APRep and messages.EncAPRepPart, which cannot be encoded.
type fakeReply struct {
	PVNO    int                 `asn1:"explicit,tag:0"`
	MsgType int                 `asn1:"explicit,tag:1"`
	EncPart types.EncryptedData `asn1:"explicit,tag:2"`
}

type fakePart struct {
	CTime          time.Time           `asn1:"generalized,explicit,tag:0"`
	Cusec          int                 `asn1:"explicit,tag:1"`
	Subkey         types.EncryptionKey `asn1:"optional,explicit,tag:2"`
	SequenceNumber int64               `asn1:"optional,explicit,tag:3"`
}

// begin returns a mechanism and the acceptor that it talks to.
func begin(t *testing.T, subkey bool, qops ...QOP) (*kerberos, *acceptor) {
	t.Helper()
	key := types.EncryptionKey{KeyType: etypeID.AES256_CTS_HMAC_SHA1_96, KeyValue: bytes.Repeat([]byte{1}, 32)}
	auth, err := types.NewAuthenticator("PFS.TEST", types.NewPrincipalName(1, "alice"))
	if err != nil {
		t.Fatal(err)
	}
	if err := auth.GenerateSeqNumberAndSubKey(key.KeyType, 32); err != nil {
		t.Fatal(err)
	}
	a := &acceptor{t: t, key: key, send: 1000, receive: uint64(auth.SeqNumber)}
	if subkey {
		a.subkey = types.EncryptionKey{KeyType: etypeID.AES128_CTS_HMAC_SHA1_96, KeyValue: bytes.Repeat([]byte{3}, 16)}
	}
	return &kerberos{key: key, auth: auth, qops: qops}, a
}

// reply returns the token that answers a request, and takes the key that it agrees on.
func (a *acceptor) reply(auth types.Authenticator) []byte {
	part, err := asn1.Marshal(fakePart{CTime: auth.CTime, Cusec: auth.Cusec, Subkey: a.subkey, SequenceNumber: int64(a.send)})
	if err != nil {
		a.t.Fatal(err)
	}
	encrypted, err := crypto.GetEncryptedData(asn1tools.AddASNAppTag(part, asnAppTag.EncAPRepPart), a.key, keyusage.AP_REP_ENCPART, 1)
	if err != nil {
		a.t.Fatal(err)
	}
	body, err := asn1.Marshal(fakeReply{PVNO: 5, MsgType: msgtype.KRB_AP_REP, EncPart: encrypted})
	if err != nil {
		a.t.Fatal(err)
	}
	a.key = auth.SubKey
	if len(a.subkey.KeyValue) > 0 {
		a.key = a.subkey
	}
	return asn1tools.AddASNAppTag(append([]byte(mechanismID+replyID), asn1tools.AddASNAppTag(body, asnAppTag.APREP)...), 0)
}

// flags are those of its tokens.
func (a *acceptor) flags() byte {
	var f byte
	if a.seals {
		f |= sealed
	}
	if len(a.subkey.KeyValue) > 0 {
		f |= acceptorSubkey
	}
	return f
}

// wrap protects a message as RFC 4121 says.
func (a *acceptor) wrap(p []byte) []byte {
	kind, err := crypto.GetEtype(a.key.KeyType)
	if err != nil {
		a.t.Fatal(err)
	}
	h := binary.BigEndian.AppendUint64([]byte{5, 4, a.flags() | byAcceptor, 0xff, 0, 0, 0, 0}, a.send)
	a.send++
	var body []byte
	if a.seals {
		filler := []byte("fill")
		h[5] = byte(len(filler))
		_, body, err = kind.EncryptMessage(a.key.KeyValue, slices.Concat(p, filler, h), keyusage.GSSAPI_ACCEPTOR_SEAL)
	} else {
		body, err = kind.GetChecksumHash(a.key.KeyValue, slices.Concat(p, h), keyusage.GSSAPI_ACCEPTOR_SEAL)
		h[5] = byte(len(body))
		body = slices.Concat(p, body)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	n := len(body) - a.rotate%len(body)
	binary.BigEndian.PutUint16(h[6:], uint16(a.rotate))
	return slices.Concat(h, body[n:], body[:n])
}

// wantUnwrapped opens a token of the client.
func (a *acceptor) wantUnwrapped(p, want []byte) {
	a.t.Helper()
	kind, err := crypto.GetEtype(a.key.KeyType)
	if err != nil {
		a.t.Fatal(err)
	}
	h := binary.BigEndian.AppendUint64([]byte{5, 4, a.flags(), 0xff, 0, 0, 0, 0}, a.receive)
	a.receive++
	var got []byte
	if a.seals {
		plain, err := kind.DecryptMessage(a.key.KeyValue, p[16:], keyusage.GSSAPI_INITIATOR_SEAL)
		if err != nil {
			a.t.Fatal(err)
		}
		if got = plain[:len(plain)-16]; !bytes.Equal(plain[len(plain)-16:], h) {
			a.t.Errorf("the inner header is %x, want %x", plain[len(plain)-16:], h)
		}
	} else {
		n := int(p[5])
		got = p[16 : len(p)-n]
		if !kind.VerifyChecksum(a.key.KeyValue, slices.Concat(got, h), p[len(p)-n:], keyusage.GSSAPI_INITIATOR_SEAL) {
			a.t.Error("the checksum is wrong")
		}
		h[5] = byte(n)
	}
	if !bytes.Equal(p[:16], h) || !bytes.Equal(got, want) {
		a.t.Errorf("a token is %x with the header %x, want %x with %x", got, p[:16], want, h)
	}
}

// TestGSSAPI agrees on each protection, with either side's key, and passes messages.
func TestGSSAPI(t *testing.T) {
	for _, qop := range []QOP{Auth, AuthInt, AuthConf} {
		for _, subkey := range []bool{false, true} {
			k, a := begin(t, subkey, AuthConf, AuthInt, Auth)
			a.rotate = 28
			if response, err := k.Next(a.reply(k.auth)); err != nil || response == nil || len(response) != 0 {
				t.Fatalf("the response is %x, %v, want an empty one", response, err)
			}
			response, err := k.Next(a.wrap([]byte{byte(qop), 0, 0xff, 0xff}))
			if err != nil || !k.Done() {
				t.Fatalf("%v: %v", qop, err)
			}
			want := []byte{byte(qop), 1, 0, 0}
			if qop == Auth {
				want = []byte{byte(qop), 0, 0, 0}
			}
			a.wantUnwrapped(response, want)
			layer, err := k.Layer()
			if err != nil {
				t.Fatal(err)
			}
			if qop == Auth {
				if layer != nil {
					t.Error("there is a layer without protection")
				}
				continue
			}
			a.seals = qop == AuthConf
			for n := range 100 {
				message := bytes.Repeat([]byte{byte(n)}, n)
				a.rotate = n
				if got, err := layer.Unwrap(a.wrap(message)); err != nil || !bytes.Equal(got, message) {
					t.Fatalf("%v: a message is %x, %v, want %x", qop, got, err, message)
				}
				wrapped, err := layer.Wrap(message)
				if err != nil {
					t.Fatal(err)
				}
				if len(wrapped) > n+wrapOverhead {
					t.Errorf("%v: a message of %d bytes has %d more when it is wrapped", qop, n, len(wrapped)-n)
				}
				a.wantUnwrapped(wrapped, message)
			}
			wantRefused(t, a, layer)
		}
	}
}

// wantRefused passes messages that were changed, left out, and repeated.
func wantRefused(t *testing.T, a *acceptor, layer Layer) {
	t.Helper()
	a.rotate = 0
	good := a.wrap([]byte("0123456789"))
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if got, err := layer.Unwrap(bad); err == nil && (i < 4 || i > 7) { // the lengths are not signed, and some mean the same
			t.Errorf("with byte %d changed it is read as %q", i, got)
		}
		if got, err := layer.Unwrap(good[:i]); err == nil {
			t.Errorf("%d bytes of it are read as %q", i, got)
		}
	}
	next := a.wrap([]byte("next"))
	if got, err := layer.Unwrap(next); err == nil {
		t.Errorf("a message after a missing one is read as %q", got)
	}
	if _, err := layer.Unwrap(good); err != nil {
		t.Error(err)
	}
	if got, err := layer.Unwrap(good); err == nil {
		t.Errorf("a repeated message is read as %q", got)
	}
}

// TestWrongAcceptor ends the exchange with a server that does not have the key, answers another request,
// offers nothing that is wanted, or sends something else.
func TestWrongAcceptor(t *testing.T) {
	k, a := begin(t, false, Auth)
	a.key.KeyValue = bytes.Repeat([]byte{2}, 32)
	if _, err := k.Next(a.reply(k.auth)); err == nil {
		t.Error("a reply with another key is accepted")
	}
	k, a = begin(t, false, Auth)
	other := k.auth
	other.Cusec++
	if _, err := k.Next(a.reply(other)); err == nil {
		t.Error("a reply to another request is accepted")
	}
	refusal := messages.NewKRBError(types.NewPrincipalName(2, "nn/localhost"), "PFS.TEST", 37, "")
	body, err := refusal.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	k, a = begin(t, false, AuthConf)
	for _, token := range [][]byte{nil, {0x60}, []byte("text"), asn1tools.AddASNAppTag([]byte(mechanismID), 0),
		asn1tools.AddASNAppTag([]byte(mechanismID+replyID), 0), asn1tools.AddASNAppTag([]byte(mechanismID+requestID+"x"), 0),
		asn1tools.AddASNAppTag(append([]byte(mechanismID+errorID), body...), 0)} {
		if _, err := k.Next(token); err == nil || k.Done() {
			t.Errorf("%x is accepted", token)
		}
	}
	if _, err := k.Next(a.reply(k.auth)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Next(a.wrap([]byte{byte(Auth | AuthInt), 0, 0xff, 0xff})); err == nil || k.Done() {
		t.Error("a protection that is not wanted is accepted")
	}
	if _, err := k.Layer(); err == nil {
		t.Error("there is a layer before the server has proved itself")
	}
}
