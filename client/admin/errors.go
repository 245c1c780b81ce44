package admin

import "errors"

func asError(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// ErrNoMessage says that a query ran and found nothing.
var ErrNoMessage = errors.New("no message found")

// ErrNoCluster says that the NameServer does not know the cluster.
var ErrNoCluster = errors.New("no such cluster")

// ErrNoBroker says that a route or cluster has no broker that the operation could be sent to.
var ErrNoBroker = errors.New("no broker to ask")
