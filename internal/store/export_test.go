package store

// What the tests outside of the package look into.
var (
	Constants  = constants
	Positional = positional
)

// PlanByKey is what lists are planned by.
const PlanByKey = sqlPlanByKey

// Bounds of what a call looks at.
const (
	MaxExamined    = maxExamined
	MaxPairMatches = maxPairMatches
)
