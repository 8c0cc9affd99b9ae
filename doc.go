// Package retryafter turns Retry-After into a wait.
package retryafter
