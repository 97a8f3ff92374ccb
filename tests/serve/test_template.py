"""What the server takes from a SAM template."""

from pathlib import Path

import pytest

from tools.serving.template import Route, Schedule, Template, TemplateError, read_template

TEMPLATE = """
Parameters:
  LogLevel: {Type: String, Default: INFO}
  Secret: {Type: String}
Globals:
  Function:
    Handler: app.handler
    Timeout: 29
    Layers: [!Ref OneLayer]
    Environment:
      Variables: {SHARED: a, OVERRIDDEN: shared, TABLE: !Ref Table}
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
  OneLayer:
    Type: AWS::Serverless::LayerVersion
    Properties: {ContentUri: layers/one}
  Table:
    Type: AWS::DynamoDB::Table
    Properties: {BillingMode: PAY_PER_REQUEST}
  PetRead:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/pet_read
      MemorySize: 512
      Timeout: 5
      Environment: {Variables: {OVERRIDDEN: own}}
      Events:
        Route: {Type: HttpApi, Properties: {ApiId: !Ref Api, Method: get, Path: "/pets/{pet}"}}
        Any: {Type: HttpApi, Properties: {Method: x-amazon-apigateway-any-method, Path: "/any"}}
        Queue: {Type: SQS, Properties: {Queue: !GetAtt Other.Arn}}
  RestFind:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: functions/rest_find
      Events:
        Default: {Type: HttpApi}
        Every: {Type: Schedule, Properties: {Schedule: rate(1 minute)}}
        Later: {Type: ScheduleV2, Properties: {ScheduleExpression: rate(2 hours), Input: '{"a":1}'}}
"""


def read(folder: Path, text: str) -> Template:
    path = folder / "template.yaml"
    path.write_text(text)
    return read_template(path)


def test_functions_take_their_settings_before_those_of_globals(tmp_path: Path) -> None:
    pet, rest = read(tmp_path, TEMPLATE).functions
    assert (pet.name, pet.folder, pet.handler) == ("pet_read", tmp_path / "functions/pet_read", "app.handler")
    assert (pet.timeout_seconds, pet.memory_mb, rest.timeout_seconds, rest.memory_mb) == (5, 512, 29, 128)
    assert pet.environment == {"SHARED": "a", "OVERRIDDEN": "own", "TABLE": {"Ref": "Table"}}
    assert rest.environment["OVERRIDDEN"] == "shared"


def test_routes_and_schedules_are_read_and_other_events_left_alone(tmp_path: Path) -> None:
    pet, rest = read(tmp_path, TEMPLATE).functions
    assert [r.key for r in pet.routes] == ["GET /pets/{pet}", "ANY /any"]
    assert rest.routes == (Route("ANY", "$default"),)
    assert rest.routes[0].key == "$default"
    assert rest.schedules == (
        Schedule("RestFindEvery", "rate(1 minute)", scheduler=False, input=None),
        Schedule("RestFindLater", "rate(2 hours)", scheduler=True, input='{"a":1}'),
    )


def test_layers_and_the_stage_are_read(tmp_path: Path) -> None:
    template = read(tmp_path, TEMPLATE)
    assert template.layers == (tmp_path / "layers/one",)
    assert template.stage == "$default"
    named = TEMPLATE.replace(
        "Type: AWS::Serverless::HttpApi", "Type: AWS::Serverless::HttpApi\n    Properties: {StageName: v1}"
    )
    assert read(tmp_path, named).stage == "v1"


@pytest.mark.parametrize(
    ("node", "text"),
    [
        ("plain", "plain"),
        (7, "7"),
        (True, "true"),
        ({"Ref": "Table"}, "towpath-table"),
        ({"Ref": "LogLevel"}, "INFO"),
        ({"Fn::GetAtt": "Key.Arn"}, "arn:key"),
        ({"Fn::GetAtt": ["Key", "Arn"]}, "arn:key"),
        ({"Ref": "Key"}, "key-id"),
        ({"Fn::Sub": "${AWS::Region}/${Table}/${Key.Arn}/${!kept}"}, "eu/towpath-table/arn:key/${!kept}"),
        ({"Fn::Sub": ["${Local}-${Table}", {"Local": {"Ref": "LogLevel"}}]}, "INFO-towpath-table"),
        ({"Fn::Join": [":", ["a", {"Ref": "Table"}]]}, "a:towpath-table"),
    ],
)
def test_expressions_resolve(tmp_path: Path, node: object, text: str) -> None:
    names = {"Table": "towpath-table", "Key": "key-id", "Key.Arn": "arn:key", "AWS::Region": "eu"}
    assert read(tmp_path, TEMPLATE).resolve(node, names=names) == text


@pytest.mark.parametrize("node", [{"Ref": "Nothing"}, {"Ref": "Secret"}, {"Fn::Select": [0, ["a"]]}, None, ["a"]])
def test_what_cannot_be_followed_is_an_error(tmp_path: Path, node: object) -> None:
    with pytest.raises(TemplateError):
        read(tmp_path, TEMPLATE).resolve(node, names={})


@pytest.mark.parametrize("text", ["", "a: b", "Resources: {A: {Type: AWS::Serverless::Function, Properties: {}}}"])
def test_what_is_no_template_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(TemplateError):
        read(tmp_path, text)


def test_the_projects_own_template_can_be_followed() -> None:
    template = read_template(Path(__file__).parents[2] / "template.yaml")
    by_key = {r.key: f.name for f in template.functions for r in f.routes}
    assert by_key["GET /health"] == "health_read"
    assert "$default" in by_key
    names = {name: name.lower() for name in (*template.resources, "AWS::StackName")}
    for function in template.functions:
        assert all(template.resolve(value, names=names) for value in function.environment.values())
