// Package status says what users are told: conditions and which changes are news, counts of Jobs, the record of what a status does not show, and how long news may
// wait for more. It reads the facts and the decision of a pass, and decides nothing.
package status
