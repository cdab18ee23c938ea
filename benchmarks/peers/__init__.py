"""The same problems in other engines, each as well as its documentation lets a user do it."""
