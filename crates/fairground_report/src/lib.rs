//! Numbers to people: tables in mail style, CSV, JSON
