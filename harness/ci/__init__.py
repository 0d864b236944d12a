"""What a CI server is told of runs: JUnit files, a summary in Markdown, annotations, tests of pytest."""
