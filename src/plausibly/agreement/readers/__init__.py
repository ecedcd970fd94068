"""Reader studies: readers and cases as samples of those that there are."""
