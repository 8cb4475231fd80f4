// Package sasl is the client side of the SASL mechanisms of Hadoop: DIGEST-MD5 (RFC 2831), with tokens,
// and GSSAPI (RFC 4752), with Kerberos. It works on messages and knows no network. Mechanisms
// and layers are not safe for concurrent use, except that one goroutine may call Wrap while another one
// calls Unwrap.
//
// # Files
//
//	sasl                    the interfaces, and the qualities of protection
//	digest, challenge       DIGEST-MD5
//	digestlayer, ciphers    its layers: signatures, and encryption with 3des or rc4
//	gssapi, token, wrap     GSSAPI, its first tokens, and its layers
package sasl
