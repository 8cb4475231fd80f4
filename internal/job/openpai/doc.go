// Package openpai is the engine that runs jobs on a cluster of OpenPAI, by the REST API of its version 1 (jobs in JSON, up to
// OpenPAI 0.14) or 2 (protocol 2).
//
// All jobs of a datacenter run as one account of OpenPAI. An attempt is one job of OpenPAI. Its name, NAME__USER_HASH, is derived from
// the submission and the attempt, so a repeated request finds the job of the first. The state of a job is its Record in the store;
// OpenPAI knows whether the tasks run. So any replica of pfsd can continue a job at any time.
//
// A task runs pfs-agent task, which copies the package, runs the entry and uploads the outputs. It logs in with a session of the user
// that lasts until the job ends.
//
// # Files
//
//	config         the options
//	client, api    requests, errors and logins; the two versions of the API
//	objects        the job of OpenPAI for an attempt
//	engine, state  the engine; the states of a job and its tasks
//	reconcile      attempts, the end of jobs, kills
//	logs           logs of workers
package openpai
