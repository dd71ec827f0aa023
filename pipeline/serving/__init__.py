"""The model as it is served: raw rows in, answers out. A registered model ships this room and `encoding`."""
