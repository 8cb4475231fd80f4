package sasl

import (
	"errors"
	"fmt"

	krb "github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// kerberos is the mechanism GSSAPI with Kerberos.
type kerberos struct {
	ticket messages.Ticket
	key    types.EncryptionKey // of the ticket
	auth   types.Authenticator
	qops   []QOP

	layer *wrapLayer // once the server has proved itself
	qop   QOP        // once the protection is agreed
}

// NewGSSAPI returns the mechanism GSSAPI. It gets a ticket for the service, from the KDC if client has
// none that is valid. Earlier qops are preferred.
func NewGSSAPI(client *krb.Client, servicePrincipal string, qops ...QOP) (Mechanism, error) {
	ticket, key, err := client.GetServiceTicket(servicePrincipal)
	if err != nil {
		return nil, err
	}
	switch key.KeyType {
	case etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA256_128, etypeID.AES256_CTS_HMAC_SHA384_192:
	default:
		return nil, fmt.Errorf("GSSAPI: the ticket for %s has the encryption type %d: only those of AES are supported", servicePrincipal, key.KeyType)
	}
	auth, err := authenticator(client, key)
	if err != nil {
		return nil, fmt.Errorf("GSSAPI: %w", err)
	}
	return &kerberos{ticket: ticket, key: key, auth: auth, qops: qops}, nil
}

func (k *kerberos) Start([]byte) ([]byte, error) {
	token, err := requestToken(k.ticket, k.key, k.auth)
	if err != nil {
		return nil, fmt.Errorf("GSSAPI: %w", err)
	}
	return token, nil
}

func (k *kerberos) Next(challenge []byte) ([]byte, error) {
	switch {
	case k.qop != 0:
		return nil, errors.New("GSSAPI: a challenge after the end")
	case k.layer == nil:
		r, err := reply(challenge, k.key, k.auth)
		if err != nil {
			return nil, fmt.Errorf("GSSAPI: the server's reply is wrong: %w", err)
		}
		if k.layer, err = newWrapLayer(k.auth, r); err != nil {
			return nil, fmt.Errorf("GSSAPI: %w", err)
		}
		return []byte{}, nil
	}
	return k.agree(challenge)
}

// agree chooses one of the protections that the server offers (RFC 4752, section 3.1).
func (k *kerberos) agree(challenge []byte) ([]byte, error) {
	offer, err := k.layer.Unwrap(challenge)
	if err != nil {
		return nil, err
	}
	if len(offer) != 4 {
		return nil, fmt.Errorf("GSSAPI: the offer of protections has %d bytes instead of 4", len(offer))
	}
	qop, err := choose(k.qops, QOP(offer[0]))
	if err != nil {
		return nil, fmt.Errorf("GSSAPI: %w", err)
	}
	answer := []byte{byte(qop), 0, 0, 0}
	if qop != Auth {
		k.layer.maxPlain = int(offer[1])<<16 + int(offer[2])<<8 + int(offer[3]) - wrapOverhead
		if k.layer.maxPlain <= 0 {
			return nil, fmt.Errorf("GSSAPI: a buffer of %d bytes leaves no room for data", k.layer.maxPlain+wrapOverhead)
		}
		answer[1] = maxReceived >> 16
	}
	if answer, err = k.layer.Wrap(answer); err != nil {
		return nil, err
	}
	k.qop, k.layer.seals = qop, qop == AuthConf
	return answer, nil
}

func (k *kerberos) Done() bool { return k.qop != 0 }

func (k *kerberos) Layer() (Layer, error) {
	switch k.qop {
	case 0:
		return nil, errors.New("GSSAPI: the exchange is not complete")
	case Auth:
		return nil, nil
	}
	return k.layer, nil
}
