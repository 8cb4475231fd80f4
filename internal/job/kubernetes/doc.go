// Package kubernetes is the engine that runs jobs on a Kubernetes cluster.
//
// A job has a ConfigMap with its Spec and its state, a Secret and a Service. Each attempt has a Job and a StatefulSet, or one
// object of an operator. All objects are in a namespace of the user, and hold the whole state. So any replica of pfsd can
// continue a job at any time.
//
// # Files
//
//	config, objects       the options, and the objects for a Spec: a pure function
//	controllers           the controllers that make the pods of an attempt: Kubernetes itself, or an operator
//	client                the API server: requests, retries, error Kinds
//	engine, submit        the engine; the checks and objects of a submission
//	compare               fields that a webhook removed
//	quota                 the quotas of a namespace, and the needs of a job
//	state, reason         the state of a job, and the reason for it
//	reconcile             attempts, tokens, records, and the removal of ended jobs
//	kill, logs, registry  the other methods of the engine
package kubernetes
