package sasl

import (
	"encoding/asn1"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jcmturner/gokrb5/v8/asn1tools"
	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// A token of GSSAPI has the object identifier of Kerberos and the kind of its message before the message
// (RFC 4121, section 4.1).
const (
	mechanismID = "\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"

	requestID = "\x01\x00"
	replyID   = "\x02\x00"
	errorID   = "\x03\x00"
)

// authenticator returns the proof that the client knows the key of its ticket, with a fresh subkey.
func authenticator(client *krb.Client, key types.EncryptionKey) (types.Authenticator, error) {
	a, err := types.NewAuthenticator(client.Credentials.Domain(), client.Credentials.CName())
	if err != nil {
		return a, err
	}
	if err := a.GenerateSeqNumberAndSubKey(key.KeyType, len(key.KeyValue)); err != nil {
		return a, err
	}
	sum := make([]byte, 24) // RFC 4121, section 4.1.1; no channel bindings
	binary.LittleEndian.PutUint32(sum, 16)
	binary.LittleEndian.PutUint32(sum[20:], gssapi.ContextFlagMutual|gssapi.ContextFlagReplay|gssapi.ContextFlagSequence|
		gssapi.ContextFlagConf|gssapi.ContextFlagInteg)
	a.Cksum = types.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	return a, nil
}

// requestToken returns the first token, for a server that must prove itself too.
func requestToken(ticket messages.Ticket, key types.EncryptionKey, a types.Authenticator) ([]byte, error) {
	request, err := messages.NewAPReq(ticket, key, a)
	if err != nil {
		return nil, err
	}
	types.SetFlag(&request.APOptions, flags.APOptionMutualRequired)
	body, err := request.Marshal()
	if err != nil {
		return nil, err
	}
	return asn1tools.AddASNAppTag(append([]byte(mechanismID+requestID), body...), 0), nil
}

// reply decrypts the token with which the server answers requestToken, and checks that it does.
func reply(token []byte, key types.EncryptionKey, a types.Authenticator) (r messages.EncAPRepPart, err error) {
	body, err := openToken(token)
	if err != nil {
		return r, err
	}
	var encrypted messages.APRep
	if err := encrypted.Unmarshal(body); err != nil {
		return r, err
	}
	plain, err := decrypt(encrypted.EncPart.Cipher, key, keyusage.AP_REP_ENCPART)
	if err != nil {
		return r, err
	}
	if err := r.Unmarshal(plain); err != nil {
		return r, err
	}
	if r.CTime.Unix() != a.CTime.Unix() || r.Cusec != a.Cusec {
		return r, errors.New("it answers another request")
	}
	return r, nil
}

// openToken returns the reply in a token.
func openToken(token []byte) ([]byte, error) {
	var outer asn1.RawValue
	if _, err := asn1.Unmarshal(token, &outer); err != nil {
		return nil, err
	}
	message, ours := strings.CutPrefix(string(outer.Bytes), mechanismID)
	if outer.Class != asn1.ClassApplication || outer.Tag != 0 || !ours || len(message) < 2 {
		return nil, errors.New("it is no token of Kerberos")
	}
	body := []byte(message[2:])
	switch id := message[:2]; id {
	case replyID:
		return body, nil
	case errorID:
		var refusal messages.KRBError
		if err := refusal.Unmarshal(body); err != nil {
			return nil, err
		}
		return nil, refusal
	default:
		return nil, fmt.Errorf("unknown token %x", id)
	}
}

// decrypt is the DecryptMessage of the library for messages of any length.
func decrypt(p []byte, key types.EncryptionKey, usage uint32) ([]byte, error) {
	kind, err := crypto.GetEtype(key.KeyType)
	if err != nil {
		return nil, err
	}
	if len(p) < kind.GetConfounderByteSize()+kind.GetHMACBitLength()/8 {
		return nil, fmt.Errorf("an encrypted message of %d bytes is too short", len(p))
	}
	return kind.DecryptMessage(key.KeyValue, p, usage)
}
