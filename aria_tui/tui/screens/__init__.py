"""One screen a file. Screens call the assistant; widgets only draw snapshots and post messages."""
