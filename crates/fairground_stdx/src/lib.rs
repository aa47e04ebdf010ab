//! Units, typed ids and tables, CPU masks, random streams: what we wish were in std
